// Package podprobe owns the arithmetic of PodProbeMarkers: which probes a Pod has, what a NodePodProbe lists, and how results
// change a Pod. Its functions are pure. Controllers and admission call them.
//
// entry.go builds the entries of a NodePodProbe, marks.go the change of a Pod, and serverless.go what Pods on virtual nodes need.
//
// A node is not trusted. Marks takes the spec of the NodePodProbe, which the controller has written, and the results of the
// node. It uses only results of probes in that spec.
package podprobe
