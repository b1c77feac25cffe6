// Package containerreporter reports the running containers of a Pod in an annotation of the Pod. It also restarts
// containers whose environment reads metadata that an in-place update changed.
//
// The controller watches the Pods of its node and caches only a summary of each (knownPod). It asks the runtime only
// when a Pod shows a change. It reports on Pods of Kruise workloads and on Pods with injected sidecars, and writes
// only when the report differs. The workload controllers use the report to decide whether an update is complete; this
// package does not decide that.
//
// Enter at New. reconcile writes the report of one Pod, and restart stops containers.
package containerreporter
