// Package kinds says what the workload kinds are: those of Kubernetes and ours that have Pods. One row of its table says all that
// the rest of the program asks about a kind: what its replicas, Pod template and claims are, whether it owns Pods, in which order
// it updates them. Nothing else lists workload kinds; a test reads the source for lists.
//
// The package knows no client. Package workloadclient reads a workload of any kind of the table from its server, and package
// controller keeps caches of those that are watched. Enter at Of and All.
package kinds
