// Package podunavailablebudget is an admission plugin. It refuses deletions, evictions, updates and resizes that
// would make more Pods unavailable than their PodUnavailableBudgets allow. kube-apiserver asks it by review.
//
// The package handles one request: it finds the Pod, its workloads and the governing budget, and returns the answer.
// It also records refusals in a metric, events and the protection log. pkg/workload/disruption decides what is exempt
// and what a budget allows. The grant is written to the same version of the budget that was checked, so several
// replicas of this server can answer in parallel. Enter at Plugin.Validate.
package podunavailablebudget
