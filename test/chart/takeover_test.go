package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestTakeoverInstallsOnlyTheApiserver renders the chart for a cluster with OpenKruise, whose other objects have the same names.
func TestTakeoverInstallsOnlyTheApiserver(t *testing.T) {
	all := render(t, "--set", "takeover=true")
	assert.Len(t, all["APIService"], 1)
	assert.Contains(t, all["APIService"], "/v1.admission.kruise.io", "the others belong to the CustomResourceDefinitions")
	for kind, objects := range all {
		for name := range objects {
			if kind != "APIService" {
				assert.True(t, strings.HasPrefix(name[strings.Index(name, "/")+1:], "kruise-apiserver"), "%s %s", kind, name)
			}
		}
	}
	assert.Contains(t, all["ValidatingAdmissionPolicyBinding"], "/kruise-apiserver-namespaces", "its token can patch namespaces")
	assert.Contains(t, pods(t, all)["kruise-apiserver"].Containers[0].Args, "--await-takeover")
	assert.NotContains(t, pods(t, render(t))["kruise-apiserver"].Containers[0].Args, "--await-takeover")
}

// TestNamespaceKeepsTheLabelOfOpenKruise upgrades after a take-over. The webhooks of OpenKruise exclude the namespace by the value of the label.
func TestNamespaceKeepsTheLabelOfOpenKruise(t *testing.T) {
	namespace := func(labels map[string]any) map[string]any {
		return map[string]any{"/api/v1/namespaces/kruise-system": map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kruise-system", "labels": labels},
		}}
	}
	for name, test := range map[string]struct {
		objects map[string]any
		want    string
	}{
		"a new namespace":          {nil, "controller-manager"},
		"a namespace without it":   {namespace(map[string]any{"a": "b"}), "controller-manager"},
		"OpenKruise 1.4 and older": {namespace(map[string]any{"control-plane": "controller-manager"}), "controller-manager"},
		"OpenKruise 1.5 and later": {namespace(map[string]any{"control-plane": "openkruise"}), "openkruise"},
	} {
		out, err := install(t, clusterWith(t, test.objects), "--take-ownership")
		require.NoError(t, err, name)
		assert.Equal(t, test.want, read[corev1.Namespace](t, decode(t, manifest(out)), "Namespace", "/kruise-system").Labels["control-plane"], name)
	}
}

// manifest returns what helm would install.
func manifest(out string) string {
	_, out, _ = strings.Cut(out, "MANIFEST:")
	out, _, _ = strings.Cut(out, "NOTES:")
	return out
}

// TestRollbackAcrossATakeoverKeepsTheAPI renders the APIServices so that Helm does not delete them while definitions are closed.
func TestRollbackAcrossATakeoverKeepsTheAPI(t *testing.T) {
	const policy = "helm.sh/resource-policy"
	closed := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": map[string]any{"group": "apps.kruise.io"},
		"metadata": map[string]any{"name": "clonesets.apps.kruise.io", "annotations": map[string]any{"kruise.io/before-takeover": "{}"}},
	}
	for name, test := range map[string]struct {
		address string
		want    string
	}{
		"taken over": {cluster(t, closed), "keep"}, "without definitions": {cluster(t), ""},
	} {
		out, err := install(t, test.address)
		require.NoError(t, err, name)
		services := decode(t, manifest(out))["APIService"]
		require.Len(t, services, 5)
		for service := range services {
			want := test.want
			if service == "/v1.admission.kruise.io" {
				want = ""
			}
			object := services[service]
			assert.Equal(t, want, object.GetAnnotations()[policy], "%s: %s", name, service)
		}
	}
}
