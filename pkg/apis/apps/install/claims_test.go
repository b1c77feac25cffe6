package install_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// TestClaimTemplatesHaveOneForm writes a claim template with and without apiVersion and kind:
// the hub sees the same, or applying a manifest again would be a change, and each version
// shows them.
func TestClaimTemplatesHaveOneForm(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	typed := metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	for name, written := range map[string]metav1.TypeMeta{"with kind": typed, "without kind": {}} {
		t.Run(name, func(t *testing.T) {
			claims := []corev1.PersistentVolumeClaim{{TypeMeta: written, ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
			alpha, beta, hub := &v1alpha1.CloneSet{}, &v1beta1.CloneSet{}, &apps.CloneSet{}

			alpha.Spec.VolumeClaimTemplates = claims
			require.NoError(t, scheme.Convert(alpha, hub, nil))
			assert.Empty(t, hub.Spec.VolumeClaimTemplates[0].TypeMeta, "v1alpha1")
			beta.Spec.VolumeClaimTemplates = claims
			require.NoError(t, scheme.Convert(beta, hub, nil))
			assert.Empty(t, hub.Spec.VolumeClaimTemplates[0].TypeMeta, "v1beta1")
			assert.Equal(t, written, claims[0].TypeMeta, "what was converted stays as it is")

			require.NoError(t, scheme.Convert(hub, alpha, nil))
			assert.Equal(t, typed, alpha.Spec.VolumeClaimTemplates[0].TypeMeta, "v1alpha1")
			require.NoError(t, scheme.Convert(hub, beta, nil))
			assert.Equal(t, typed, beta.Spec.VolumeClaimTemplates[0].TypeMeta, "v1beta1")
			assert.Empty(t, hub.Spec.VolumeClaimTemplates[0].TypeMeta, "the hub stays as it is")
		})
	}
}

func TestClaimTemplatesOfAStatefulSetHaveOneForm(t *testing.T) {
	scheme := newScheme(t)
	typed := metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	claims := []corev1.PersistentVolumeClaim{{TypeMeta: typed, ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	alpha, beta, hub := &v1alpha1.StatefulSet{}, &v1beta1.StatefulSet{}, &apps.StatefulSet{}

	alpha.Spec.VolumeClaimTemplates = claims
	require.NoError(t, scheme.Convert(alpha, hub, nil))
	assert.Empty(t, hub.Spec.VolumeClaimTemplates[0].TypeMeta, "v1alpha1")
	require.NoError(t, scheme.Convert(hub, beta, nil))
	assert.Equal(t, typed, beta.Spec.VolumeClaimTemplates[0].TypeMeta, "v1beta1")
	hub = &apps.StatefulSet{}
	require.NoError(t, scheme.Convert(beta, hub, nil))
	assert.Empty(t, hub.Spec.VolumeClaimTemplates[0].TypeMeta, "v1beta1")
	require.NoError(t, scheme.Convert(hub, alpha, nil))
	assert.Equal(t, typed, alpha.Spec.VolumeClaimTemplates[0].TypeMeta, "v1alpha1")
}
