package v1alpha1_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// convert goes through the hub to another version. Both ends are of the same kind.
func convert(t *testing.T, in, hub, out runtime.Object) {
	t.Helper()
	scheme := newScheme(t)
	scheme.Default(in)
	require.NoError(t, scheme.Convert(in, hub, nil))
	require.NoError(t, scheme.Convert(hub, out, nil))
}

// Case containerrecreaterequest 39.
func TestAnnotationsOfARequestAreStatus(t *testing.T) {
	grace := metav1.Condition{
		Type: "PreRecreateGrace", Status: "True", Reason: "PreRecreateGrace",
		LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 2, 1, 4, 5, 0, time.UTC)),
	}
	const (
		synced   = "crr.apps.kruise.io/sync-container-statuses"
		acquired = "crr.apps.kruise.io/unready-acquired"
	)
	tests := map[string]struct {
		annotations map[string]string
		snapshot    []v1beta1.ContainerRecreateRequestContainerStatus
		conditions  []metav1.Condition
		left, back  map[string]string
	}{
		"none": {},
		"both": {
			annotations: map[string]string{
				synced:   `[{"name":"app","ready":true,"restartCount":2,"containerID":"containerd://a"},{"name":"b","ready":false,"restartCount":0}]`,
				acquired: "2026-01-02T03:04:05+02:00", "other": "stays",
			},
			snapshot: []v1beta1.ContainerRecreateRequestContainerStatus{
				{Name: "app", Ready: true, RestartCount: 2, ContainerID: "containerd://a"}, {Name: "b"},
			},
			conditions: []metav1.Condition{grace},
			left:       map[string]string{"other": "stays"},
			back: map[string]string{
				synced:   `[{"name":"app","ready":true,"restartCount":2,"containerID":"containerd://a"},{"name":"b","ready":false,"restartCount":0}]`,
				acquired: "2026-01-02T01:04:05Z", "other": "stays",
			},
		},
		"no values": {annotations: map[string]string{synced: "abc", acquired: "yesterday"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			beta, alpha := &v1beta1.ContainerRecreateRequest{}, &v1alpha1.ContainerRecreateRequest{}
			written := &v1alpha1.ContainerRecreateRequest{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			convert(t, written, &apps.ContainerRecreateRequest{}, beta)
			assert.Equal(t, test.snapshot, beta.Status.ContainerStatusSnapshot)
			assert.Equal(t, test.conditions, beta.Status.Conditions)
			if len(test.left) == 0 {
				assert.Empty(t, beta.Annotations)
			} else {
				assert.Equal(t, test.left, beta.Annotations)
			}
			convert(t, beta, &apps.ContainerRecreateRequest{}, alpha)
			if len(test.back) == 0 {
				assert.Empty(t, alpha.Annotations)
			} else {
				assert.Equal(t, test.back, alpha.Annotations)
			}
		})
	}
}

// A condition that the annotation cannot say goes through v1alpha1 unharmed.
func TestOtherConditionsOfARequestAreKept(t *testing.T) {
	beta, alpha, again := &v1beta1.ContainerRecreateRequest{}, &v1alpha1.ContainerRecreateRequest{}, &v1beta1.ContainerRecreateRequest{}
	beta.Status.Conditions = []metav1.Condition{
		{
			Type: "PreRecreateGrace", Status: "True", Reason: "PreRecreateGrace", Message: "since then",
			LastTransitionTime: metav1.NewTime(time.Unix(100, 0).UTC()),
		},
		{Type: "Other", Status: "True", Reason: "Why", LastTransitionTime: metav1.NewTime(time.Unix(200, 0).UTC())},
	}
	convert(t, beta.DeepCopy(), &apps.ContainerRecreateRequest{}, alpha)
	assert.Equal(t, "1970-01-01T00:01:40Z", alpha.Annotations["crr.apps.kruise.io/unready-acquired"])
	convert(t, alpha.DeepCopy(), &apps.ContainerRecreateRequest{}, again)
	for i := range again.Status.Conditions {
		assert.True(t, beta.Status.Conditions[i].LastTransitionTime.Equal(&again.Status.Conditions[i].LastTransitionTime))
		again.Status.Conditions[i].LastTransitionTime = beta.Status.Conditions[i].LastTransitionTime
	}
	assert.Equal(t, beta.Status, again.Status)
	assert.Empty(t, again.Annotations)

	over, shown := beta.DeepCopy(), &v1alpha1.ContainerRecreateRequest{}
	over.Status.Conditions[0].Status = metav1.ConditionFalse
	convert(t, over, &apps.ContainerRecreateRequest{}, shown)
	assert.NotContains(t, shown.Annotations, "crr.apps.kruise.io/unready-acquired")

	alpha.Annotations["crr.apps.kruise.io/unready-acquired"] = "1970-01-01T00:05:00Z"
	convert(t, alpha, &apps.ContainerRecreateRequest{}, again)
	require.Len(t, again.Status.Conditions, 1, "a changed annotation replaces it")
	assert.EqualValues(t, 300, again.Status.Conditions[0].LastTransitionTime.Unix())
}

func TestDefaultsOfARequest(t *testing.T) {
	beta := &v1beta1.ContainerRecreateRequest{}
	convert(t, &v1alpha1.ContainerRecreateRequest{}, &apps.ContainerRecreateRequest{}, beta)
	assert.Equal(t, &v1beta1.ContainerRecreateRequestStrategy{FailurePolicy: "Fail"}, beta.Spec.Strategy)
	own := &v1alpha1.ContainerRecreateRequest{Spec: v1alpha1.ContainerRecreateRequestSpec{
		Strategy: &v1alpha1.ContainerRecreateRequestStrategy{FailurePolicy: "Ignore", OrderedRecreate: true},
	}}
	convert(t, own, &apps.ContainerRecreateRequest{}, beta)
	assert.Equal(t, &v1beta1.ContainerRecreateRequestStrategy{FailurePolicy: "Ignore", OrderedRecreate: true}, beta.Spec.Strategy)

	direct := &v1beta1.ContainerRecreateRequest{}
	newScheme(t).Default(direct)
	assert.Equal(t, &v1beta1.ContainerRecreateRequestStrategy{FailurePolicy: "Fail"}, direct.Spec.Strategy)
}
