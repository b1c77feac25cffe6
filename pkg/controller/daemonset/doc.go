// Package daemonset reconciles Advanced DaemonSets: one Pod on each eligible node, updated node by node.
//
// The package owns which nodes are eligible, the arithmetic of a rolling update, and the status. Package engine observes and
// writes Pods and revisions. One pass goes through
//
//	places.go   the nodes that the DaemonSet sees, with their Pods
//	manage.go   create and delete Pods, whatever revision they have
//	update.go   replace Pods, or update them in place, within maxUnavailable
//	surge.go    replace Pods after their replacement is available, within maxSurge
//	status.go   the counts
//
// Enter at New, and at Reconciler.Reconcile.
package daemonset
