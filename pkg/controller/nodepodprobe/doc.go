// Package nodepodprobe owns the controller of NodePodProbes. It creates one for each node that is ready, deletes it with the node,
// lists in its spec the probes of the Pods on the node, and marks these Pods with the results in its status. It is the only writer
// of the spec; the node agent is the only writer of the status.
//
// The spec depends only on the Pods of the node and on the PodProbeMarkers that select them, so each pass computes all of it
// (pkg/workload/podprobe). Enter at Reconciler.Reconcile.
package nodepodprobe
