package chart

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// served are the kinds that helm asks a cluster for before it would install.
var served = map[string][]string{
	"v1":        {"Namespace", "ServiceAccount", "PersistentVolumeClaim", "Service", "ConfigMap"},
	"apps/v1":   {"Deployment", "DaemonSet", "ControllerRevision"},
	"policy/v1": {"PodDisruptionBudget"}, "apiregistration.k8s.io/v1": {"APIService"},
	"apiextensions.k8s.io/v1":         {"CustomResourceDefinition"},
	"flowcontrol.apiserver.k8s.io/v1": {"FlowSchema"},
	"networking.k8s.io/v1":            {"NetworkPolicy"},
	"monitoring.coreos.com/v1":        {"ServiceMonitor", "PodMonitor"},
	"rbac.authorization.k8s.io/v1":    {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},

	"admissionregistration.k8s.io/v1": {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"},
}

// cluster answers what helm asks before it would install: the version, the kinds, its releases and the definitions.
func cluster(t *testing.T, definitions ...map[string]any) string {
	t.Helper()
	return clusterWith(t, nil, definitions...)
}

// clusterWith is a cluster that has objects too, by their paths.
func clusterWith(t *testing.T, objects map[string]any, definitions ...map[string]any) string {
	t.Helper()
	groups := []any{}
	answers := map[string]any{
		"/version": map[string]any{"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
		"/api":     map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": definitions,
		},
		"/api/v1/namespaces/default/secrets": map[string]any{"apiVersion": "v1", "kind": "SecretList", "items": []any{}},
	}
	for version, kinds := range served {
		resources := []any{}
		for _, kind := range kinds {
			namespaced := !strings.HasPrefix(kind, "Cluster") && !strings.HasPrefix(kind, "Validating") && !strings.HasPrefix(kind, "Mutating") && kind != "Namespace" && kind != "APIService" && kind != "CustomResourceDefinition" && kind != "FlowSchema"
			resources = append(resources, map[string]any{
				"name": strings.ToLower(kind) + "s", "kind": kind, "namespaced": namespaced, "verbs": []string{"get", "list"},
			})
		}
		path := "/api/" + version
		if group, name, found := strings.Cut(version, "/"); found {
			path = "/apis/" + version
			one := map[string]any{"groupVersion": version, "version": name}
			groups = append(groups, map[string]any{"name": group, "versions": []any{one}, "preferredVersion": one})
		}
		answers[path] = map[string]any{"kind": "APIResourceList", "groupVersion": version, "resources": resources}
	}
	answers["/apis"] = map[string]any{"kind": "APIGroupList", "groups": groups}
	maps.Copy(answers, objects)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
		}
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func install(t *testing.T, address string, args ...string) (string, error) {
	t.Helper()
	return run(t.Context(), t, append([]string{
		"install", "kruise", chartDir, "--namespace", "default", "--kube-apiserver", address, "--dry-run=server", "--disable-openapi-validation",
	}, args...)...)
}

// TestDefinitionsPresent is case 7: a cluster that serves the group from definitions is refused with instructions.
// Case install 7.
func TestDefinitionsPresent(t *testing.T) {
	definition := func(name, group string) map[string]any {
		return map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"group": group},
		}
	}
	_, err := install(t, cluster(t, definition("clonesets.apps.kruise.io", "apps.kruise.io")))
	for _, want := range []string{"clonesets.apps.kruise.io", "deletes all their objects", "run kubectl kruise takeover"} {
		assert.ErrorContains(t, err, want)
	}
	_, err = install(t, cluster(t, definition("podunavailablebudgets.policy.kruise.io", "policy.kruise.io")))
	assert.ErrorContains(t, err, "podunavailablebudgets.policy.kruise.io")
	_, err = install(t, cluster(t, definition("games.game.kruise.io", "game.kruise.io")))
	assert.NoError(t, err, "another project's group")
}

// TestTakeoverValueAfterTheTakeoverIsRefused upgrades a release whose objects were taken over with the value of its first installation, which
// would delete the APIServices. Before the take-over, and after a return to the manager of OpenKruise, the value is accepted.
func TestTakeoverValueAfterTheTakeoverIsRefused(t *testing.T) {
	definition := func(annotations map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": "clonesets.apps.kruise.io", "annotations": annotations},
			"spec":     map[string]any{"group": "apps.kruise.io"},
		}
	}
	manager := func(labels map[string]any) map[string]any {
		return map[string]any{"/apis/apps/v1/namespaces/kruise-system/deployments/kruise-controller-manager": map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "kruise-controller-manager", "namespace": "kruise-system", "labels": labels},
		}}
	}
	closed, ours := map[string]any{"kruise.io/before-takeover": "{}"}, map[string]any{"app.kubernetes.io/part-of": "kruise"}
	_, err := install(t, clusterWith(t, manager(ours), definition(closed)), "--set", "takeover=true")
	assert.ErrorContains(t, err, "the take-over has happened, and takeover=true would delete the APIServices")
	for name, address := range map[string]string{
		"with the manager of OpenKruise":  clusterWith(t, manager(map[string]any{}), definition(map[string]any{})),
		"taken over, controllers to come": clusterWith(t, nil, definition(closed)),
	} {
		_, err = install(t, address, "--set", "takeover=true")
		assert.NoError(t, err, name)
	}
}

// TestNotes is case 1's note, and what else is said after an installation.
// Case install 1.
func TestNotes(t *testing.T) {
	tests := map[string]struct {
		args    []string
		want    []string
		wantNot []string
	}{
		"defaults": {
			nil, []string{"kubectl get apiservices -l app.kubernetes.io/name=kruise", "The store is embedded"},
			[]string{"no effect", "KruiseDaemon is off"},
		},
		"1.4 values": {
			[]string{"-f", "testdata/values-1.4.yaml"},
			[]string{
				"accepted and have no effect", "- crds:", "- manager.webhook:", "- webhookConfiguration:",
				"- manager.image: openkruise/kruise-manager",
			}, []string{"- daemon", "- installation"},
		},
		"unknown": {
			[]string{"--set", "bogus.a=1,manager.replica=3,daemon.sockets=a,installation.namespaces=b"},
			[]string{
				"- bogus: this chart has no such value", "- manager.replica: this chart has no such value",
				"- daemon.sockets: this chart has no such value", "- installation.namespaces: this chart has no such value",
			}, []string{"- manager.replicas", "- agent"},
		},
		"Prometheus is shut out": {
			[]string{"--set", "networkPolicy.enabled=true,monitoring.monitors.enabled=true"}, []string{"Prometheus cannot reach the metrics"}, nil,
		},
		"Prometheus is let in": {
			[]string{"--set", "networkPolicy.enabled=true,monitoring.monitors.enabled=true,networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus"},
			nil, []string{"Prometheus cannot reach the metrics"},
		},
		"agent off": {
			append([]string{"--set", "featureGates=KruiseDaemon=false"}, externalEtcd...),
			[]string{"KruiseDaemon is off"}, []string{"The store is embedded"},
		},
	}
	address := cluster(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := install(t, address, test.args...)
			require.NoError(t, err)
			_, out, _ = strings.Cut(out, "NOTES:")
			for _, want := range test.want {
				assert.Contains(t, out, want)
			}
			for _, not := range test.wantNot {
				assert.NotContains(t, out, not)
			}
		})
	}
}
