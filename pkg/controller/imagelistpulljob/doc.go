// Package imagelistpulljob owns the controller of ImageListPullJobs. Each image of a list job has an ImagePullJob. The list
// job's status counts the progress of these jobs.
//
// children.go decides which jobs to create and delete and what to report. It reads only the list job, its children and the time.
// Enter at Reconciler.Reconcile.
package imagelistpulljob
