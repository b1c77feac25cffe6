// Package predownload owns the jobs with which workloads have new images pulled before an update reaches their Pods: whether
// a revision gets any, and what they say.
//
// All functions are pure. Enter at Jobs; the workload's controller creates them once for each revision, and deletes them when
// the revision has reached all Pods.
package predownload
