// Package rules holds what the rules of all groups share: amounts of Pods, the judgement of
// updates by what they change, and the paths of errors in each version.
//
// The rules of a kind are in the package validation of its group.
package rules
