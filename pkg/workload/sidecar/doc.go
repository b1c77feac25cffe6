// Package sidecar owns what the injection of a SidecarSet and its upgrades share: which SidecarSets concern a Pod, what a Pod
// records about them, what a stored revision holds, and how an image changes in a running Pod.
//
// The functions read caches by index and are otherwise pure. pkg/admission/pod injects, pkg/controller/sidecarset upgrades. Enter
// at Matching, Upgrade and Flip.
package sidecar
