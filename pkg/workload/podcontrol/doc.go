// Package podcontrol owns how a workload makes Pods: building one from a template (Build), its volume claims (Claims), and
// in which steps many are created (SlowStart).
//
// It makes no request of its own.
package podcontrol
