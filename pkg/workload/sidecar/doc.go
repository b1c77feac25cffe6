// Package sidecar owns what the injection of a SidecarSet and its upgrades share: which SidecarSets concern a Pod, what a Pod
// records about them, what a stored revision holds, and how an image changes in a running Pod.
//
// The functions read caches by index and are otherwise pure. pkg/admission/pod injects, pkg/controller/sidecarset upgrades. Enter
// at Matching, Upgrade and Flip.
//
// A hot upgrade has two containers in the Pod. One works and the other has the empty image. Upgrade gives the new image to the
// one that does not work. Flip empties the old one when the new one serves. The annotation that Working reads says which of
// them works.
//
// The hash that a Pod records says which content it has. Two hashes are kept, with and without images: a Pod can be upgraded
// if only the first one differs.
package sidecar
