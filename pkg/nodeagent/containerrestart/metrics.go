package containerrestart

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Values of the label result.
const (
	stopped = "stopped"
	failed  = "failed"
)

var recreates = metrics.NewCounterVec(&metrics.CounterOpts{
	Namespace: "kruise_node_agent",
	Name:      "container_recreate_total",
	Help: "Number of containers that a ContainerRecreateRequest stopped, so that the kubelet starts them again, by result: stopped or " +
		"failed. A stop that the runtime did not answer is not counted, because it is tried again.",
	StabilityLevel: metrics.ALPHA,
}, []string{"result"})

// RegisterMetrics registers the metrics of this package. Only the first call has an effect. Both series exist from
// the start, so a rate over them is defined.
var RegisterMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(recreates)
	recreates.WithLabelValues(stopped).Add(0)
	recreates.WithLabelValues(failed).Add(0)
})
