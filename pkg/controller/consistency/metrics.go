package consistency

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics"

	"kruise.io/kruise/pkg/workload/kinds"
)

// Metrics count the writes that guards wait for. The methods of a nil pointer do nothing.
type Metrics struct {
	waits, rollbacks *metrics.CounterVec
	// lates holds the metrics by the kind of the owner, for kinds whose metric has a name on existing dashboards.
	lates map[schema.GroupKind]*metrics.CounterVec
}

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	const stage = metrics.ALPHA
	m := &Metrics{
		waits: metrics.NewCounterVec(&metrics.CounterOpts{Name: "kruise_manager_stale_cache_total",
			Help: "Number of reconciles postponed because a cache had not seen an earlier write.", StabilityLevel: stage}, []string{"controller"}),
		rollbacks: metrics.NewCounterVec(&metrics.CounterOpts{Name: "kruise_manager_lost_write_total",
			Help: "Number of writes that a server has lost because its data was restored from a backup.", StabilityLevel: stage},
			[]string{"controller"}),
		lates: map[schema.GroupKind]*metrics.CounterVec{},
	}
	for _, kind := range kinds.All() {
		if kind.LateWrites != "" {
			m.lates[kind.GroupKind] = metrics.NewCounterVec(&metrics.CounterOpts{Name: kind.LateWrites,
				Help: "Number of writes that a cache did not show within --expectation-timeout.", StabilityLevel: stage}, []string{"namespace", "name"})
		}
	}
	return m
}

// Register registers the metrics. It returns the first error of register.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	all := []metrics.Registerable{m.waits, m.rollbacks}
	for _, late := range m.lates {
		all = append(all, late)
	}
	for _, metric := range all {
		if err := register(metric); err != nil {
			return err
		}
	}
	return nil
}

// begin shows the counter of lost writes of a controller with 0. An increase from no series to 1 would raise no alert.
func (m *Metrics) begin(controller string) {
	if m != nil {
		m.rollbacks.WithLabelValues(controller).Add(0)
	}
}

// stale counts a reconcile that was postponed.
func (m *Metrics) stale(controller string) {
	if m != nil {
		m.waits.WithLabelValues(controller).Inc()
	}
}

// rolledBack counts a write that the server has lost.
func (m *Metrics) rolledBack(controller string) {
	if m != nil {
		m.rollbacks.WithLabelValues(controller).Inc()
	}
}

// late counts a write that a cache did not show in time, for kinds that have such a metric.
func (m *Metrics) late(kind schema.GroupKind, owner metav1.Object) {
	if m != nil && m.lates[kind] != nil {
		m.lates[kind].WithLabelValues(owner.GetNamespace(), owner.GetName()).Inc()
	}
}
