// Package nodeimage owns the controller of NodeImages: there is one for each node that has been ready for a while, it has the
// node's labels, and it goes with the node. What is in it comes from others: ImagePullJobs and users write its spec, and the
// node's agent its status. The controller drops what nobody waits for any more, and speaks for a node that does not answer.
//
// clean.go decides what is left of a spec, report.go what of a status, and both see nothing but the object and the time. Enter
// at Reconciler.Reconcile.
package nodeimage
