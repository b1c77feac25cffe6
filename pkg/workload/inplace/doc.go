// Package inplace owns the update of a running Pod: whether a change of template can be made without deleting the Pod, what
// is then written into it, and when the node has carried it out.
//
// Enter at Plan (old and new template to a Change, or no), Change.Apply and Advance (what to write, in turns by launch
// priority), and Evaluate (is it done, and is the next turn due). Package record has the record that travels in an annotation
// of the Pod.
//
// An update is complete on evidence from the node. An image: the container is another one than that recorded in the very
// write that changed the spec, and the node's agent says that it was created from the new spec; without an agent the image
// in the status says so. Variables that read metadata: the agent says that the container was started with the new values.
// Amounts of processor and memory: the status has them. No clock of the node decides it, and no image ID must differ: the
// same digest under a new tag is complete as well.
package inplace
