// Package describe describes workloads that roll out: their rollout, their Pods, their conditions, and why there is no progress. kubectl's
// describe prints all fields of a kind that it does not know. Enter at Install.
package describe
