// Package advancedcronjob reconciles AdvancedCronJobs: it creates a Job, a BroadcastJob or an ImageListPullJob at each time of a
// schedule.
//
// The name of a run's job contains its time, so the API server refuses a second one. The time of the last run never goes back in the
// status. A clock that jumps therefore starts no run twice. Enter at New, and at Reconciler.Reconcile.
package advancedcronjob
