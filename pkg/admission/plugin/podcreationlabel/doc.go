// Package podcreationlabel is an admission plugin. It removes the label apps.kruise.io/pod-creation from a namespace whose other labels
// change, in the same write. kube-apiserver asks it by review.
//
// With the label, kube-apiserver does not ask this server about new Pods in the namespace. The controller of package podcreation adds it
// while no SidecarSet selects the namespace by its labels, which may not hold for other labels. Enter at Plugin.Patch.
package podcreationlabel
