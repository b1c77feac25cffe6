// Package statefulset owns the controller of the StatefulSets of this project: it makes the Pods and claims of a StatefulSet match
// the StatefulSet's spec.
//
// Each Pod has a slot, which is an ordinal. A reconcile reads the caches into a view (engine.Observe), decides in functions that read
// only the view (plan.go, scale.go, claims.go, update.go, status.go), and writes the result (engine.Execute, report.go). Enter at
// Reconciler.Reconcile.
//
// Only the worker that holds a StatefulSet's key writes to its Pods, claims, revisions and status.
package statefulset
