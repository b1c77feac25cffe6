// Package workloadspread keeps the status of WorkloadSpreads and the Pods of their targets up to date. Pod admission sends new Pods to
// subsets; this package recounts the slots from the Pods that exist (package spread), assigns Pods that were not injected, orders the
// Pods for scale-in by their deletion costs, and deletes Pods that find no node so that they are created in the next subset.
//
// target.go finds the target and its Pods, assign.go decides which subset each Pod belongs to, and reconcile.go writes. Enter at New.
//
// Three parties change the slots in the status: admission takes a slot, admission of a deletion returns one, and this
// controller replaces both kinds of entries by the Pods that it sees. Each write succeeds only if the record has not changed
// since the decision. So a conflict means that slots were taken or returned, and the Pods are listed and counted again.
package workloadspread
