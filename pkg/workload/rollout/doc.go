// Package rollout owns the arithmetic of a rollout: how many Pods to create, delete and update, at which revision, and how many
// at once.
//
// The package only counts. It does not pick Pods by name (package ordering sorts them), and it makes no API requests. Enter at
// Calculate. Diff.SelectUpdates then selects among sorted candidates.
//
// Its tests check these invariants: never more Pods than replicas + maxSurge are requested, the Pods made unavailable on purpose
// never exceed maxUnavailable, and no step requests what the next step must undo.
package rollout
