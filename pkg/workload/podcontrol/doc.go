// Package podcontrol owns how a workload makes Pods: building a Pod from a template (Build), its volume claims (Claims), and the
// batches in which many Pods are created (SlowStart).
//
// The package makes no API requests.
package podcontrol
