// Package describe describes workloads that roll out: their rollout, their Pods, their conditions, and why nothing goes on. kubectl's
// describe prints all fields of a kind that it does not know. Enter at Install.
package describe
