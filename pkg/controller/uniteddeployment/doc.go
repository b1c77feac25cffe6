// Package uniteddeployment is the controller of UnitedDeployments. It keeps one workload for each subset of a topology, and divides the
// replicas among them.
//
// The workloads are CloneSets, Deployments, or StatefulSets of either group. What differs between the four is in one table, adapters.
// The Pods belong to the workloads: the controller only labels reserved ones, and deletes Pods at which a StatefulSet of Kubernetes is
// stuck. Enter at Reconciler.Reconcile; the shares of the subsets are in allocate.go.
//
// A pass has the order of Reconciler.pass: register the revision of the template, observe the workloads and their Pods, judge
// which subsets can run Pods, allocate the replicas, write the workloads, and write the status. The conditions of the subsets
// in the status are the memory of the adaptive strategy. The guard therefore also waits for the status: a pass that begins
// with an older one would judge twice.
//
// A workload is written as a three-way patch of what it was built as, what is desired, and what is stored. So what other
// clients write into fields that the template does not set stays (docs/design/0020-uniteddeployment.md).
package uniteddeployment
