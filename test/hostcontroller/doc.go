// Package hostcontroller runs the controller as a process of this machine in place of the cluster's own, so that it can be
// killed at any moment, started again at once, and measured. It is for the fault test and the benchmark.
//
// TakeOver ends the cluster's own controllers; Process is the one that works in their place.
package hostcontroller
