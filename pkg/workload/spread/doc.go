// Package spread decides which subset of a WorkloadSpread a Pod belongs to. Everything in it is a pure function of the WorkloadSpread,
// its Pods and time.
//
// The status of a WorkloadSpread is the one record of the slots of its subsets. Admission reserves a slot for a new Pod (Reserve) and
// returns that of a Pod that is about to be deleted (Release). The controller recounts the slots from the Pods (Recount). All three
// decide inside a write that succeeds only if the record has not changed since. match.go finds the WorkloadSpread of a Pod, inject.go
// changes a new Pod, classify.go finds the subset of a Pod that was not injected, and cost.go orders Pods for scale-in.
package spread
