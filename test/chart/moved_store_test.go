package chart

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	deploymentPath = "/apis/apps/v1/namespaces/kruise-system/deployments/kruise-apiserver"
	claimPath      = "/api/v1/namespaces/kruise-system/persistentvolumeclaims/kruise-apiserver-data"
	apiServicePath = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.apps.kruise.io"
)

// installed is what the chart itself renders for the apiserver with these values.
func installed(t *testing.T, args ...string) map[string]any {
	t.Helper()
	all := render(t, args...)
	require.Contains(t, all["Deployment"], "kruise-system/kruise-apiserver")
	return map[string]any{
		deploymentPath: all["Deployment"]["kruise-system/kruise-apiserver"].Object,
		apiServicePath: all["APIService"]["/v1beta1.apps.kruise.io"].Object,
	}
}

// TestMovedStore goes from one set of values to another. Where the apiserver would start on a
// store that lacks the objects, the garbage collector would delete their Pods: refused.
func TestMovedStore(t *testing.T) {
	embedded, external := installed(t), installed(t, externalEtcd...)
	left := map[string]any{claimPath: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "kruise-apiserver-data"},
	}}
	configMapPath := "/api/v1/namespaces/kruise-system/configmaps/kruise-store"
	record := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"identity": "a-b-c", "generation": "7"}}
	revisions := func(apiVersion string) map[string]any {
		return map[string]any{"/apis/apps/v1/controllerrevisions": map[string]any{
			"apiVersion": "apps/v1", "kind": "ControllerRevisionList", "items": []any{map[string]any{
				"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": map[string]any{
					"name": "demo-1", "namespace": "ns",
					"ownerReferences": []any{map[string]any{"apiVersion": apiVersion, "kind": "CloneSet", "name": "demo", "uid": "u"}},
				},
			}},
		}}
	}
	uninstalled := map[string]any{claimPath: left[claimPath], configMapPath: record}
	with := func(args ...string) []string { return append(args, externalEtcd...) }
	tests := map[string]struct {
		installed map[string]any
		args      []string
		want      []string
	}{
		"nothing installed":         {nil, externalEtcd, nil},
		"embedded again":            {embedded, []string{"--set", "manager.replicas=3"}, nil},
		"external again":            {external, with("--set", "storage.etcd.endpoints[2]=https://etcd-2:2379"), nil},
		"the claim that was left":   {left, nil, nil},
		"embedded to external":      {embedded, externalEtcd, []string{"claim kruise-apiserver-data", "uses etcd", "storage.objectsMoved=true"}},
		"external to embedded":      {external, nil, []string{"are in etcd", "claim kruise-apiserver-data"}},
		"left claim to external":    {left, externalEtcd, []string{"claim kruise-apiserver-data", "uses etcd"}},
		"another claim":             {embedded, []string{"--set", "storage.embedded.persistentVolumeClaim.existingClaim=mine"}, []string{"claim mine"}},
		"another prefix":            {external, with("--set", "storage.etcd.prefix=/k"), []string{"below the prefix /k"}},
		"another namespace":         {embedded, []string{"--set", "installation.namespace=other"}, []string{"installation.namespace=kruise-system"}},
		"the objects were moved":    {embedded, with("--set", "storage.objectsMoved=true"), nil},
		"moved to etcd":             {embedded, with("--set", "storage.move=toEtcd"), nil},
		"moved to the claim":        {external, with("--set", "storage.move=toEmbedded"), nil},
		"the move is over":          {installed(t, with("--set", "storage.move=toEtcd")...), externalEtcd, nil},
		"the move back is over":     {installed(t, with("--set", "storage.move=toEmbedded")...), nil, nil},
		"back on etcd by mistake":   {installed(t, with("--set", "storage.move=toEmbedded")...), externalEtcd, []string{"uses etcd", "storage.move"}},
		"moved without an etcd":     {embedded, []string{"--set", "storage.move=toEtcd"}, []string{"storage.etcd.endpoints is empty"}},
		"uninstalled, all was kept": {uninstalled, nil, nil},
		"uninstalled, claim deleted": {
			map[string]any{configMapPath: record}, nil, []string{"were in store a-b-c", "no claim kruise-apiserver-data", "delete ConfigMap kruise-store"},
		},
		"claim deleted on purpose": {map[string]any{configMapPath: record}, []string{"--set", "storage.objectsMoved=true"}, nil},
		"an empty store and Pods": {
			revisions("apps.kruise.io/v1alpha1"), nil, []string{"the store would be empty, and CloneSet demo has Pods", "storage.objectsMoved=true"},
		},
		"Pods of built-in kinds":    {revisions("apps/v1"), nil, nil},
		"moved to a namespace, too": {embedded, []string{"--set", "installation.namespace=other,storage.objectsMoved=true"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := install(t, clusterWith(t, test.installed), append([]string{"--take-ownership"}, test.args...)...)
			if len(test.want) == 0 {
				require.NoError(t, err)
			}
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}
