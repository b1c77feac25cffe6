// Package containermeta reports what the node runs of a Pod's containers, in an annotation of the Pod, and restarts the
// containers whose environment reads metadata that an in-place update changed.
//
// It watches the Pods of its node, keeps of each only what it needs (knownPod), and asks the runtime only when a Pod says
// that something changed. It reports on Pods of our workloads and on Pods with injected sidecars, and writes only what
// differs. It decides nothing about updates: whether one is complete the engine of workloads decides, from the report.
//
// Enter at New; reconcile makes one Pod's report, restart ends containers.
package containermeta
