// Package nodeimage owns the controller of NodeImages. It creates one for each node that has been ready for some time, copies
// the node's labels to it, and deletes it with the node. ImagePullJobs and users write a NodeImage's spec. The node agent writes
// its status. The controller removes what nothing needs any more, and reports failures for a node that does not answer.
//
// clean.go decides what remains of a spec, and report.go what remains of a status. Both use only the object and the time. Enter
// at Reconciler.Reconcile.
//
// The controller and the node agent write the same status. Each of them decides again after a conflict, and the controller
// leaves the counts of new tags to the agent for a few seconds. What an agent reports is not trusted: its times can make a
// pull overdue earlier, but never keep it pending without end.
package nodeimage
