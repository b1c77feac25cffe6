// Package imagelistpulljob owns the controller of ImageListPullJobs: each of its images has an ImagePullJob, and the list job
// counts how they get on.
//
// children.go decides which jobs to create and delete and what to report, and sees nothing but the list job, its children and
// the time. Enter at Reconciler.Reconcile.
package imagelistpulljob
