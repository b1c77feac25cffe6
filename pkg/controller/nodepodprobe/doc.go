// Package nodepodprobe owns the controller of NodePodProbes. It creates one for each node that is ready, deletes it with the node,
// lists in its spec the probes of the Pods on the node, and marks these Pods with the results in its status. It is the only writer
// of the spec; the node agent is the only writer of the status.
//
// The spec depends only on the Pods of the node and on the PodProbeMarkers that select them, so each pass computes all of it
// (pkg/workload/podprobe). Enter at Reconciler.Reconcile.
//
// A node agent is believed only about Pods on its node, and about probes that the spec lists for them. A stolen token of an
// agent can therefore mark no other Pods. The conditions and the marks of a Pod are one write to its status, so a client that
// sees a label also sees the condition.
package nodepodprobe
