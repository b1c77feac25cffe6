// Package sidecarset upgrades the containers that SidecarSets injected into running Pods, stores the revisions of SidecarSets, and
// counts their Pods. Admission injects, see pkg/admission/pod.
//
// A pass over one SidecarSet has the order of Reconciler.pass: revision, status, and then flips of hot upgrades or upgrades. One
// write changes all containers of the SidecarSet in a Pod, and records the instances that it ends. Which Pods are upgraded is
// decided in choose, a pure function.
//
// A Pod is written only at the version that the decision was made from. After a conflict, the Pod is read and decided on
// again. After a write without an answer, the next pass reads the Pod before it decides anything. So a stale cache causes
// neither a second upgrade nor a second flip.
//
// The controller of the Pod's workload updates other containers of the same Pod, with a record of its own. Neither waits for
// the other.
package sidecarset
