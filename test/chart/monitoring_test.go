package chart

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

const monitored = "monitoring.monitors.enabled=true"

// Clusters without the operator of Prometheus do not know these kinds.
func TestMonitorsAreOptional(t *testing.T) {
	all := render(t)
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule"} {
		assert.Empty(t, all[kind], kind)
	}
	assert.NotContains(t, all["ConfigMap"], "kruise-system/kruise-dashboards")
	_, err := template(t, "--set", "monitoring=null")
	require.NoError(t, err, "values of an older chart")
}

// field returns a field of an object of a kind without a Go type.
func field[T any](t *testing.T, object *unstructured.Unstructured, path ...string) T {
	t.Helper()
	require.NotNil(t, object)
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	require.NoError(t, err)
	require.True(t, found, path)
	typed, ok := value.(T)
	require.True(t, ok, "%T", value)
	return typed
}

// selected returns the names of the candidates that a monitor selects.
func selected(t *testing.T, monitor *unstructured.Unstructured, candidates map[string]*unstructured.Unstructured) (found []string) {
	t.Helper()
	wanted := labels.Set{}
	for key, value := range field[map[string]any](t, monitor, "spec", "selector", "matchLabels") {
		wanted[key], _ = value.(string)
	}
	for name, candidate := range candidates {
		if wanted.AsSelector().Matches(labels.Set(candidate.GetLabels())) {
			found = append(found, name)
		}
	}
	return found
}

// Case metrics 16.
func TestMonitorsSelectThePortsOfThePrograms(t *testing.T) {
	all := render(t, "--set", monitored, "--set", "monitoring.monitors.labels.release=prometheus", "--set", "daemon.bindAddress=$(NODE_ADDRESS)")
	for name, test := range map[string]struct {
		service, port string
		selects       []string
	}{
		"kruise-system/controller-manager-metrics-monitor": {
			"kruise-system/kruise-controller-manager-metrics", "metrics", []string{"kruise-system/kruise-controller-manager-metrics"},
		},
		"kruise-system/kruise-apiserver": {
			"kruise-system/kruise-apiserver-reviews", "https", []string{"kruise-system/kruise-apiserver", "kruise-system/kruise-apiserver-reviews"},
		},
	} {
		monitor := all["ServiceMonitor"][name]
		assert.ElementsMatch(t, test.selects, selected(t, monitor, all["Service"]), name)
		assert.Equal(t, "prometheus", monitor.GetLabels()["release"])
		endpoint, ok := field[[]any](t, monitor, "spec", "endpoints")[0].(map[string]any)
		require.True(t, ok)
		assert.Equal(t, test.port, endpoint["port"])
		service := read[corev1.Service](t, all, "Service", test.service)
		assert.Equal(t, test.port, service.Spec.Ports[0].Name)
	}
	// Its metrics have labels of workloads, which Prometheus would rename to exported_namespace.
	manager, ok := field[[]any](t, all["ServiceMonitor"]["kruise-system/controller-manager-metrics-monitor"], "spec", "endpoints")[0].(map[string]any)
	require.True(t, ok)
	assert.Equal(t, true, manager["honorLabels"])
	agents := all["PodMonitor"]["kruise-system/kruise-daemon"]
	pods := field[map[string]any](t, all["DaemonSet"]["kruise-system/kruise-daemon"], "spec", "template", "metadata", "labels")
	for key, value := range field[map[string]any](t, agents, "spec", "selector", "matchLabels") {
		assert.Equal(t, value, pods[key], key)
	}
}

// A monitor of an address that Prometheus cannot reach would never stop alerting.
func TestAgentsOnTheLoopbackAddressAreNotScraped(t *testing.T) {
	for name, test := range map[string]struct {
		values []string
		want   int
	}{
		"by default":            {nil, 0},
		"an address":            {[]string{"--set", "daemon.bindAddress=10.0.0.1"}, 1},
		"the network of Pods":   {[]string{"--set", "daemon.hostNetwork=false"}, 1},
		"no agent at all":       {[]string{"--set", "daemon.hostNetwork=false", "--set", "featureGates=KruiseDaemon=false"}, 0},
		"the loopback by value": {[]string{"--set", "daemon.bindAddress=127.0.0.1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Len(t, render(t, append([]string{"--set", monitored}, test.values...)...)["PodMonitor"], test.want)
		})
	}
}

// Prometheus must verify the apiserver, because it sends its token.
func TestPrometheusTrustsTheCertificate(t *testing.T) {
	for name, test := range map[string]struct {
		values       []string
		kind, object string
	}{
		"its own":          {nil, "secret", "kruise-apiserver-certs"},
		"by cert-manager":  {[]string{"--set", "apiService.certManager.enabled=true"}, "secret", "kruise-apiserver-tls"},
		"that of the user": {[]string{"--set", "apiService.tlsSecret=mine", "--set", "apiService.caBundle=YXV0aG9yaXR5"}, "configMap", "kruise-apiserver-ca"},
	} {
		t.Run(name, func(t *testing.T) {
			all := render(t, append([]string{"--set", monitored}, test.values...)...)
			endpoint, ok := field[[]any](t, all["ServiceMonitor"]["kruise-system/kruise-apiserver"], "spec", "endpoints")[0].(map[string]any)
			require.True(t, ok)
			assert.Equal(t, map[string]any{
				"serverName": "kruise-apiserver.kruise-system.svc", "ca": map[string]any{test.kind: map[string]any{"name": test.object, "key": "ca.crt"}},
			}, endpoint["tlsConfig"])
			if test.kind == "configMap" {
				assert.Equal(t, "authority", strings.TrimSpace(read[corev1.ConfigMap](t, all, "ConfigMap", "kruise-system/"+test.object).Data["ca.crt"]))
			}
		})
	}
}

func TestPrometheusMayReadMetrics(t *testing.T) {
	all := render(t, "--set", monitored, "--set", "monitoring.monitors.serviceAccounts[0].namespace=monitoring",
		"--set", "monitoring.monitors.serviceAccounts[0].name=prometheus")
	role := read[rbacv1.ClusterRole](t, all, "ClusterRole", "/kruise-metrics-reader")
	assert.Equal(t, []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, role.Rules)
	binding := read[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding", "/kruise-metrics-reader")
	assert.Equal(t, role.Name, binding.RoleRef.Name)
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "monitoring", Name: "prometheus"}}, binding.Subjects)
}

func TestRulesAndDashboardsAreThoseOfTheFiles(t *testing.T) {
	all := render(t, "--set", "monitoring.rules.enabled=true", "--set", "monitoring.dashboards.enabled=true",
		"--set", "monitoring.rules.runbooks=https://wiki.example/kruise/")
	groups := field[[]any](t, all["PrometheusRule"]["kruise-system/kruise"], "spec", "groups")
	text, err := json.Marshal(groups)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"runbook_url":"https://wiki.example/kruise/KruiseStoreClosed.md"`)
	assert.NotContains(t, string(text), "docs/runbooks")
	assert.Contains(t, string(text), "{{ $labels.reason }}", "Prometheus fills the templates, not Helm")
	boards := read[corev1.ConfigMap](t, all, "ConfigMap", "kruise-system/kruise-dashboards")
	assert.Equal(t, "1", boards.Labels["grafana_dashboard"])
	for _, name := range []string{"operation.json", "rollouts.json"} {
		file, err := os.ReadFile(chartDir + "/files/monitoring/dashboards/" + name)
		require.NoError(t, err)
		assert.JSONEq(t, string(file), boards.Data["kruise-"+name])
	}
}
