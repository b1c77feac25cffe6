// Package spread decides which subset of a WorkloadSpread a Pod belongs to. Everything in it is a pure function of the WorkloadSpread,
// its Pods and time.
//
// The status of a WorkloadSpread is the one record of the slots of its subsets. Admission reserves a slot for a new Pod (Reserve) and
// returns that of a Pod that is about to be deleted (Release). The controller recounts the slots from the Pods (Recount). All three
// decide inside a write that succeeds only if the record has not changed since. match.go finds the WorkloadSpread of a Pod, inject.go
// changes a new Pod, classify.go finds the subset of a Pod that was not injected, and cost.go orders Pods for scale-in.
//
// The record of a subset has three parts. An entry in creatingPods is a Pod that was admitted and not seen yet. A Pod that was seen
// counts in replicas. An entry in deletingPods is a Pod whose deletion was admitted: its slot is free again, although the Pod
// still counts in one of the other two. The free slots of a subset are its limit minus the first two, plus the third.
// docs/design/0021-workloadspread.md lists the rules by which a subset never has more Pods than it may have, and the test that
// checks them.
package spread
