// Package rolloutprogress shows as metrics how far the rollouts of workloads are.
//
// It owns the metrics kruise_rollout_* and kruise_rollouts. A rollout has series of its own only while it is under way, and only a
// limited number of rollouts have them. A scrape therefore costs the same for a thousand Pods as for one. The skeleton of
// controllers tells it about every object that it reconciles, so only the leader has values. Enter at NewMetrics.
package rolloutprogress
