package sidecarset

import "k8s.io/component-base/metrics"

// Metrics count the Pods that were created without injection. The methods of a nil pointer do nothing.
type Metrics struct{ uninjected *metrics.GaugeVec }

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	return &Metrics{uninjected: metrics.NewGaugeVec(&metrics.GaugeOpts{Name: "kruise_sidecarset_uninjected_pods",
		Help:           "Number of Pods that a SidecarSet selects and that were created without its containers.",
		StabilityLevel: metrics.ALPHA}, []string{"sidecarset"})}
}

// Register registers the metrics.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	return register(m.uninjected)
}

func (m *Metrics) set(name string, pods int) {
	if m != nil {
		m.uninjected.WithLabelValues(name).Set(float64(pods))
	}
}

// forget removes the series of a deleted SidecarSet, so that it does not keep its last value.
func (m *Metrics) forget(name string) {
	if m != nil {
		m.uninjected.DeleteLabelValues(name)
	}
}
