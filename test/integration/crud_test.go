//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestServerFillsDefaults(t *testing.T) {
	t.Parallel()
	cloneSet := newCloneSet("demo")
	cloneSet.Spec.Replicas = nil
	created := create(t, cloneSets(t), cloneSet)
	assert.Equal(t, int32(1), *created.Spec.Replicas)
	assert.Equal(t, "20%", created.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.String())
	assert.Equal(t, corev1.RestartPolicyAlways, created.Spec.Template.Spec.RestartPolicy)
	assert.Equal(t, corev1.PullAlways, created.Spec.Template.Spec.Containers[0].ImagePullPolicy)
	assert.Equal(t, int64(1), created.Generation)
}

func TestGenerationCountsSpecChanges(t *testing.T) {
	t.Parallel()
	client := cloneSets(t)
	created := create(t, client, newCloneSet("demo"))
	patch := func(body string) *v1beta1.CloneSet {
		t.Helper()
		got, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, int64(1), created.Generation)
	assert.Equal(t, int64(1), patch(`{"metadata":{"labels":{"a":"b"}}}`).Generation)
	assert.Equal(t, int64(2), patch(`{"spec":{"replicas":3}}`).Generation)
	assert.Equal(t, int64(2), patch(`{"spec":{"replicas":3}}`).Generation)
}

func TestPatchTypes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind types.PatchType
		body string
	}{
		"strategic": {types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"new:v2"}]}}}}`},
		"json":      {types.JSONPatchType, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"new:v2"}]`},
		"merge": {types.MergePatchType,
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"new:v2"},{"name":"side","image":"side:v1"}]}}}}`},
	}
	client := cloneSets(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cloneSet := newCloneSet(name)
			cloneSet.Spec.Template.Spec.Containers = append(cloneSet.Spec.Template.Spec.Containers, corev1.Container{Name: "side", Image: "side:v1"})
			create(t, client, cloneSet)
			patched, err := client.Patch(t.Context(), name, test.kind, []byte(test.body), metav1.PatchOptions{})
			require.NoError(t, err)
			require.Len(t, patched.Spec.Template.Spec.Containers, 2)
			assert.Equal(t, "new:v2", patched.Spec.Template.Spec.Containers[0].Image)
			assert.Equal(t, "side:v1", patched.Spec.Template.Spec.Containers[1].Image)
		})
	}
}
