// Package inplace owns the update of a running Pod: whether a change of template is possible without deleting the Pod, what is
// written into the Pod, and when the node has completed the update.
//
// Enter at Plan (compare two templates), Change.Apply and Advance (write the change, in batches by launch priority), and
// Evaluate (is the update complete, and is the next batch due). Package record defines the record that is stored in an
// annotation of the Pod.
//
// An update is complete on evidence from the node:
//
//   - Image: the container instance differs from the instance that was recorded in the same write that changed the spec, and
//     the node agent reports that the instance was created from the new spec. Without an agent, the image in the status must
//     match.
//   - Variables that read metadata: the node agent reports that the container was started with the new values.
//   - CPU and memory: the status has the new resources.
//
// The node's clock is never used. The image ID need not change: an update to the same digest under a new tag is complete too.
package inplace
