// Package inplace owns the update of a running Pod: whether a change of template can be made without deleting the Pod, what
// is then written into it, and when the node has carried it out.
//
// Enter at Plan (old and new template to a Change, or no), Change.Apply (what to write), and Evaluate (is it done). State is
// the record that travels in an annotation of the Pod; old Pods carry it too, so its fields never change.
//
// An update is complete on evidence from the node: the container is another one than that recorded in the very write that
// changed the spec, and runs the image that the spec names. No clock decides it, and no image ID must differ: the same
// digest under a new tag is complete as well.
package inplace
