package app

import (
	"errors"

	"k8s.io/component-base/metrics"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/controller/rolloutprogress"
	"kruise.io/kruise/pkg/controller/sidecarset"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/refusals"
)

// programMetrics are the metrics of the program. Libraries register those of clients, queues and the Go runtime.
type programMetrics struct {
	queues      *reconcile.Metrics
	consistency *consistency.Metrics
	sidecars    *sidecarset.Metrics
	rollouts    *rolloutprogress.Metrics
	agents      *controller.AgentMetrics
	refusals    *refusals.Counter
	leader      *leaderMetric
}

// newMetrics creates and registers the metrics. register is that of the global registry, and another one in tests.
func newMetrics(register func(metrics.Registerable) error) (*programMetrics, error) {
	m := &programMetrics{
		queues: reconcile.NewMetrics(), consistency: consistency.NewMetrics(), sidecars: sidecarset.NewMetrics(),
		rollouts: rolloutprogress.NewMetrics(), agents: controller.NewAgentMetrics(),
		refusals: refusals.NewCounter(
			"pod_unavailable_budget", "Updates of Pods in place that a PodUnavailableBudget refused.", "kind_namespace_name"),
	}
	var err error
	m.leader, err = newLeaderMetric(register)
	return m, errors.Join(err, register(m.refusals.CounterVec), m.queues.Register(register), m.consistency.Register(register),
		m.sidecars.Register(register), m.rollouts.Register(register), m.agents.Register(register))
}
