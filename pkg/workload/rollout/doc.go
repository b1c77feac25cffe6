// Package rollout owns the arithmetic of a rollout: how many Pods to create, delete and update, of which revision, and
// how many of them at once.
//
// It counts; it never picks a Pod by name (package ordering sorts them) and writes nothing. Enter at Calculate; the
// walk that spends the update's budget over sorted candidates is Diff.SelectUpdates.
//
// Invariants that its tests hold: no more Pods than replicas + maxSurge are asked for, the Pods made unavailable by
// choice never exceed maxUnavailable, and no step asks for what the next one must undo.
package rollout
