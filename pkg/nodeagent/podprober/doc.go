// Package podprober runs the probes that the NodePodProbe of its node lists, and reports their results in its status.
//
// The NodePodProbe decides what to probe: controllers write its spec. The package decides when a probe runs (schedule.go), which
// instance of the container it is for (instances.go), what its outcome means (result.go) and what is written (status.go). How a
// probe runs is in pkg/nodeagent/handler. What a result does to a Pod is the controllers' part. Enter at Controller.
package podprober
