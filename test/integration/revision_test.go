//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/workload/engine"
	storedrevision "kruise.io/kruise/pkg/workload/history"
)

// TestRevisionKeepsItsBytes writes a revision as controllers and the garbage collector do. OpenKruise compares the bytes, so each of them must
// come back from kube-apiserver.
func TestRevisionKeepsItsBytes(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	data, err := storedrevision.Data(&corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "<a&b>"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "app:1"}},
			Volumes: []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
				Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
			}}},
		},
	})
	require.NoError(t, err)
	want := `{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{"note":"\u003ca\u0026b\u003e"},"creationTimestamp":null,` +
		`"labels":{"app":"web"}},"spec":{"containers":[{"image":"app:1","name":"main","resources":{}}],` +
		`"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"resources":{}}}},"name":"scratch"}]}}}}`
	server, client := engine.NewServer(env.kube), env.kube.AppsV1().ControllerRevisions(namespace)
	same := func(what string) *appsv1.ControllerRevision {
		t.Helper()
		stored, err := client.Get(t.Context(), "web-1", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, want, string(stored.Data.Raw), what)
		return stored
	}
	_, err = server.CreateRevision(t.Context(), &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: namespace}, Data: runtime.RawExtension{Raw: data}, Revision: 1,
	})
	require.NoError(t, err)
	stored := same("created")
	web, err := env.kube.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	// The garbage collector deletes what has an owner that does not exist.
	owner := *metav1.NewControllerRef(web, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	_, err = server.AdoptRevision(t.Context(), stored, owner)
	require.NoError(t, err)
	stored = same("adopted")
	stored.Revision = 2
	_, err = server.UpdateRevision(t.Context(), stored)
	require.NoError(t, err)
	same("updated")
	_, err = client.Patch(t.Context(), "web-1", types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	assert.Empty(t, same("released").OwnerReferences)
}
