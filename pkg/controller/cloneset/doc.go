// Package cloneset owns the controller of CloneSets: it makes the Pods of a CloneSet what its spec says.
//
// A reconcile reads caches into a view, decides in functions that see nothing but the view (refresh.go, scale.go, update.go,
// status.go), and writes what they decided (writer.go). Enter at Reconciler.Reconcile.
//
// The arithmetic, the orders, the in-place update and the revisions are not here but in pkg/workload, for all workloads.
//
// Only the worker that has a CloneSet's key writes to its Pods, its claims, its revisions and its status.
package cloneset
