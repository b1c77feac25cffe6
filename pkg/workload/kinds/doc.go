// Package kinds describes the workload kinds, those of Kubernetes and of this project, that have Pods. A Kind
// holds everything that the rest of the program needs to know about it: what its replicas, Pod template and claims are,
// whether it owns Pods, and in which order it updates them. No other list of workload kinds is allowed; a test checks the source
// for such lists.
//
// The package uses no client. Package workloadclient reads a workload of any kind from the API server. Package controller caches
// the kinds that are watched. Enter at Of and All.
package kinds
