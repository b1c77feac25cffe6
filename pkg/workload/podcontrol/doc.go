// Package podcontrol owns how a workload makes Pods: building a Pod from a template (Build) and its volume claims (Claims).
//
// The package makes no API requests.
package podcontrol
