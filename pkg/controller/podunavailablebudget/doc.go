// Package podunavailablebudget owns the controller that counts, for each PodUnavailableBudget, how many Pods may become
// unavailable, and publishes which budget governs a Pod: by annotation on the Pod, and by a label on each namespace that has
// a budget. kube-apiserver asks admission only where it finds those.
//
// The arithmetic is in pkg/workload/disruption. This package finds Pods and replicas, in caches and by index, and writes.
// A count is written over the very budget that it was made for: what admission granted meanwhile makes the write fail, and
// the count is made again. Enter at Reconciler.Reconcile.
package podunavailablebudget
