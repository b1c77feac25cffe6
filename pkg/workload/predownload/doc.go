// Package predownload owns the jobs that pull new images before an update reaches a workload's Pods: whether a revision gets
// jobs, and what the jobs contain.
//
// All functions are pure. Enter at Jobs. The workload's controller creates the jobs once for each revision, and deletes them
// when the revision has reached all Pods.
package predownload
