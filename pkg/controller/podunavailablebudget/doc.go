// Package podunavailablebudget owns the controller that counts, for each PodUnavailableBudget, how many Pods may become
// unavailable. It also publishes which budget governs a Pod, by an annotation on the Pod, and labels each namespace that has a
// budget. kube-apiserver calls the admission webhooks only where it finds these.
//
// The arithmetic is in pkg/workload/disruption. This package finds Pods and replicas, in caches and by index, and writes. A
// count is written only if the budget is unchanged since it was read. If admission granted something meanwhile, the write fails
// and the budget is counted again. Enter at Reconciler.Reconcile.
//
// A stale cache never makes a granted disruption available again: a grant ends only when the cache shows the same Pod as the
// API server. Grants of deleted budgets are kept in memory until they expire. A controller that starts later does not know
// them.
package podunavailablebudget
