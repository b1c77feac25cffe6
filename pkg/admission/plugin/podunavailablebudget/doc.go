// Package podunavailablebudget is the admission plugin that lets no more Pods become unavailable than their
// PodUnavailableBudgets allow: by deletion, eviction, an update, or a resize. kube-apiserver asks it by review.
//
// It owns the way of one request: which Pod it is about, what that belongs to, which budget governs it, and the answer with
// its traces (metric, events, protection log). What is exempt and what a budget says, pkg/workload/disruption decides. The
// grant is written into the very record that was judged, so replicas of this server may answer at the same time.
// Enter at Plugin.Validate.
package podunavailablebudget
