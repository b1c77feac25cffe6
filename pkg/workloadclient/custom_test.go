package workloadclient

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// The paths of the filter come before the path of the administrator, and this before the scale.
// Case workloadspread 24.
func TestReplicasOfACustomWorkload(t *testing.T) {
	const listed = `{"workloads":[{"group":"example.com","version":"v9","kind":"Game","replicasPath":"spec.players"}]}`
	for name, tc := range map[string]struct {
		kind, list string
		paths      []string
		scale      bool
		scaleErr   error
		want       int
		missing    bool
		err        string
	}{
		"the paths of the filter":        {kind: "Game", list: listed, paths: []string{"spec.teams.0.size", "spec.players"}, scale: true, want: 2 + 6},
		"the path of the administrator":  {kind: "Game", list: listed, scale: true, want: 6},
		"the scale":                      {kind: "Game", scale: true, want: 9},
		"no scale":                       {kind: "Game", scale: true, scaleErr: apierrors.NewNotFound(schema.GroupResource{}, "web")},
		"a scale that may not be read":   {kind: "Game", scale: true, scaleErr: apierrors.NewForbidden(schema.GroupResource{}, "web", nil)},
		"a scale that cannot be read":    {kind: "Game", scale: true, scaleErr: apierrors.NewServiceUnavailable("down"), err: "down"},
		"a kind that is not served":      {kind: "Other", err: "no matches for"},
		"a list that is not in the form": {kind: "Game", list: "{", err: "read the list of allowed kinds"},
		"a workload that does not exist": {kind: "Match", missing: true},
		"a kind of another group":        {kind: "Game", list: `{"workloads":[{"group":"other","kind":"Game","replicasPath":"spec.players"}]}`, scale: true, want: 9},
	} {
		t.Run(name, func(t *testing.T) {
			version := schema.GroupVersion{Group: "example.com", Version: "v1"}
			mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{version})
			lists := map[schema.GroupVersionResource]string{}
			for kind, plural := range map[string]string{"Game": "games", "Match": "matches"} {
				mapper.Add(version.WithKind(kind), meta.RESTScopeNamespace)
				lists[version.WithResource(plural)] = kind + "List"
			}
			client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Game", "metadata": map[string]any{"namespace": "ns", "name": "web", "uid": "u"},
				"spec": map[string]any{"players": int64(6), "teams": []any{map[string]any{"size": int64(2)}}},
			}})
			client.PrependReactor("get", "games/scale", func(clienttesting.Action) (bool, runtime.Object, error) {
				return tc.scale, &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(9)}}}, tc.scaleErr
			})
			kube := kubefake.NewClientset()
			if tc.list != "" {
				require.NoError(t, kube.Tracker().Add(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "kruise-system", Name: pub.ConfigurationName},
					Data:       map[string]string{pub.WorkloadSpreadWorkloadsKey: tc.list},
				}))
			}
			object := &v1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: v1beta1.WorkloadSpreadSpec{
				TargetRef:    &v1beta1.TargetReference{APIVersion: "example.com/v2", Kind: tc.kind, Name: "web"},
				TargetFilter: &v1beta1.TargetFilter{ReplicasPathList: tc.paths},
			}}
			custom := Custom{Kube: kube, Dynamic: client, Mapper: mapper, Namespace: "kruise-system"}
			found, err := custom.Target(t.Context(), object)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			if tc.missing {
				assert.Nil(t, found)
				return
			}
			assert.Equal(t, tc.want, found.Replicas)
			assert.EqualValues(t, "u", found.UID)
		})
	}
}
