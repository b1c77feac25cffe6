package app

import (
	"testing"

	"kruise.io/kruise/test/exposed"
)

// Case metrics 13.
// Dashboards and alerts of users name these metrics.
func TestMetrics(t *testing.T) {
	registerMetrics()
	found := exposed.Metrics(t)
	exposed.Contract(t, found,
		"kruise_node_agent_image_pull_total counter result",
		"kruise_node_agent_image_pull_duration_seconds histogram",
		"kruise_node_agent_image_pull_active gauge",
		"kruise_node_agent_container_recreate_total counter result",
		"kruise_node_agent_probe_total counter result",
		"kruise_node_agent_cri_request_duration_seconds histogram method",
		"kruise_node_agent_cri_up gauge runtime",
		"workqueue_depth gauge name",
		"rest_client_requests_total counter code,host,method",
	)
	exposed.Compare(t, "kruise-daemon", found)
}
