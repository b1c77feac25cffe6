// Package rules contains shared validation rules of all groups: amounts of Pods, ratcheting of updates,
// and the paths of errors in each version.
//
// The rules of a kind are in the package validation of its group.
package rules
