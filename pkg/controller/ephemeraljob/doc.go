// Package ephemeraljob owns the EphemeralJob controller. It adds the ephemeral containers of a job to running Pods, a few Pods at a
// time, and reports how the containers ended. Each container names its job in an environment variable, so the Pods themselves say
// what is done. Ephemeral containers cannot be removed: they stay in their Pods when the job is deleted.
//
// A pass observes the Pods (targets.go), decides the status and which Pods are next (status.go), and patches those (inject.go).
// Enter at New and Reconcile.
package ephemeraljob
