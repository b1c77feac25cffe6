// Package broadcastjob reconciles BroadcastJobs: one Pod on each eligible node, which runs to its end.
//
// The name of a Pod depends on its node, so the API server refuses a second Pod on a node whatever the controller missed. One pass
// observes the Pods, judges the job, creates or deletes Pods, and writes the status. Enter at New, and at Reconciler.Reconcile.
package broadcastjob
