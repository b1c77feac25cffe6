// Package podprobemarker owns the controller of PodProbeMarkers: their finalizer and their status. It also marks Pods on virtual
// nodes, whose provider runs the probes and writes the conditions.
//
// The probes of other nodes are written by pkg/controller/nodepodprobe. The status of a generation is written when all of them show
// it, and the finalizer is removed when none is left. Enter at Reconciler.Reconcile.
//
// The finalizer keeps a deleted PodProbeMarker until no NodePodProbe lists its probes. Marks on Pods stay after that: labels,
// annotations and conditions belong to the Pod then.
package podprobemarker
