// Package uniteddeployment is the controller of UnitedDeployments. It keeps one workload for each subset of a topology, and divides the
// replicas among them.
//
// The workloads are CloneSets, Deployments, or StatefulSets of either group. What differs between the four is in one table, adapters.
// The Pods belong to the workloads: the controller only labels reserved ones, and deletes Pods at which a StatefulSet of Kubernetes is
// stuck. Enter at Reconciler.Reconcile; the shares of the subsets are in allocate.go.
package uniteddeployment
