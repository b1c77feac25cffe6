package app

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"

	"kruise.io/kruise/pkg/serverclock"
	"kruise.io/kruise/test/exposed"
)

// Case metrics 13.
// Dashboards and alerts of users name these metrics.
func TestMetrics(t *testing.T) {
	serverclock.New()
	_, err := newMetrics(legacyregistry.Register)
	require.NoError(t, err)
	found := exposed.Metrics(t)
	exposed.Contract(t, found,
		"kruise_manager_is_leader gauge",
		"leader_election_slowpath_total counter name",
		"pod_unavailable_budget counter kind_namespace_name,username",
		"cloneset_scale_expectation_leakage counter name,namespace",
		"controller_runtime_reconcile_total counter controller,result",
		"controller_runtime_reconcile_errors_total counter controller",
		"controller_runtime_reconcile_time_seconds histogram controller",
		"controller_runtime_active_workers gauge controller",
		"controller_runtime_max_concurrent_reconciles gauge controller",
		"workqueue_depth gauge name",
		"workqueue_queue_duration_seconds histogram name",
		"rest_client_requests_total counter code,host,method",
		"process_cpu_seconds_total counter",
		"go_goroutines gauge",
	)
	exposed.Compare(t, "kruise-controller-manager", found)
}
