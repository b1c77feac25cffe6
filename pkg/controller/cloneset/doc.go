// Package cloneset owns the controller of CloneSets: it makes the Pods of a CloneSet match the CloneSet's spec.
//
// A reconcile reads the caches into a view (engine.Observe), decides in functions that read only the view (plan.go, scale.go,
// update.go, status.go), and writes the result (engine.Execute, report.go). Enter at Reconciler.Reconcile.
//
// The rollout arithmetic, the Pod orders, in-place updates and revisions are in pkg/workload, because all workloads share them.
//
// Only the worker that holds a CloneSet's key writes to its Pods, claims, revisions and status.
package cloneset
