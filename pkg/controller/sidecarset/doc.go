// Package sidecarset upgrades the containers that SidecarSets injected into running Pods, stores the revisions of SidecarSets, and
// counts their Pods. Admission injects, see pkg/admission/pod.
//
// A pass over one SidecarSet has the order of Reconciler.pass: revision, status, and then flips of hot upgrades or upgrades. One
// write changes all containers of the SidecarSet in a Pod, and records the instances that it ends. Which Pods are upgraded is
// decided in choose, a pure function.
package sidecarset
