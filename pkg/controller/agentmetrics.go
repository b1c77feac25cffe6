package controller

import (
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"

	"kruise.io/kruise/pkg/workload/podstate"
)

// AgentMetrics count the Pods of node agents by their readiness, as changes arrive. The methods of a nil pointer do nothing.
type AgentMetrics struct {
	// pods has one series for each state, "ready" and "not_ready".
	pods *metrics.GaugeVec
	// begun is true once a controller counts the agents.
	begun atomic.Bool
}

// NewAgentMetrics returns metrics that are not registered yet.
func NewAgentMetrics() *AgentMetrics {
	return &AgentMetrics{pods: metrics.NewGaugeVec(&metrics.GaugeOpts{Name: "kruise_node_agents",
		Help:           "Number of node agents, by state: ready or not_ready. Every replica of the manager counts them.",
		StabilityLevel: metrics.ALPHA}, []string{"state"})}
}

// Register registers the metrics.
func (m *AgentMetrics) Register(register func(metrics.Registerable) error) error {
	return register(m.pods)
}

// begin returns true for the first caller. Several controllers watch the agents, and only one may count them.
func (m *AgentMetrics) begin() bool { return m != nil && m.begun.CompareAndSwap(false, true) }

// count adds the change to the gauge of the Pod's state. The caller subtracts the state before a change and adds the state after it,
// so no recount is necessary. A nil Pod is one that is new, deleted, or of no agent.
func (m *AgentMetrics) count(pod *corev1.Pod, change float64) {
	if pod == nil {
		return
	}
	state := "not_ready"
	if podstate.Ready(pod) {
		state = "ready"
	}
	m.pods.WithLabelValues(state).Add(change)
}
