package podcontrol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

func blueprint() *Blueprint {
	return &Blueprint{
		Owner: metav1.OwnerReference{UID: "u", Name: "web"}, Name: "web", Namespace: "ns", Revision: "web-abc",
		ClaimLabels: map[string]string{"app": "a"}, Stamp: StampFullName, State: "PreparingNormal", InstanceLabel: "id",
		Gates: []corev1.PodConditionType{"InPlaceUpdateReady", "KruisePodReady"},
		Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
			Spec: corev1.PodSpec{
				ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "mine"}},
				Volumes:        []corev1.Volume{{Name: "data"}, {Name: "tmp"}},
			},
		},
		ClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"own": "1"}}}},
	}
}

func TestBuild(t *testing.T) {
	b := blueprint()
	pod := b.Build("x2x2x", time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)))
	assert.Equal(t, "web-x2x2x", pod.Name)
	assert.Equal(t, map[string]string{
		"app": "a", "id": "x2x2x", "controller-revision-hash": "web-abc", "pod-template-hash": "abc",
		"lifecycle.apps.kruise.io/state": "PreparingNormal",
	}, pod.Labels)
	assert.Equal(t, "2025-12-31T23:00:00Z", pod.Annotations["lifecycle.apps.kruise.io/timestamp"])
	assert.Equal(t, []corev1.PodReadinessGate{{ConditionType: "mine"}, {ConditionType: "InPlaceUpdateReady"}, {ConditionType: "KruisePodReady"}},
		pod.Spec.ReadinessGates)
	assert.Equal(t, "data-web-x2x2x", pod.Spec.Volumes[1].PersistentVolumeClaim.ClaimName)
	assert.Len(t, pod.Spec.Volumes, 2)
	assert.Equal(t, map[string]string{"app": "a"}, b.Template.Labels, "the template is left alone")

	b.Stamp = StampShortHash
	assert.Equal(t, "abc", b.Build("y", time.Now()).Labels["controller-revision-hash"])
}

func TestClaims(t *testing.T) {
	claims := blueprint().Claims("x2x2x")
	require.Len(t, claims, 1)
	assert.Equal(t, "data-web-x2x2x", claims[0].Name)
	assert.Equal(t, map[string]string{"own": "1", "app": "a", "id": "x2x2x"}, claims[0].Labels)
}

func TestNewIDAvoidsTakenOnes(t *testing.T) {
	taken := map[string]bool{}
	for range 1000 {
		NewID(rand.String, taken)
	}
	assert.Len(t, taken, 1000)
}

func TestPlainPodsGetNothingButTheTemplate(t *testing.T) {
	b := blueprint()
	b.State, b.InstanceLabel, b.Gates, b.ClaimTemplates = "", "", nil, nil
	pod := b.Build("0", time.Now())
	assert.Equal(t, "web-0", pod.Name)
	assert.Equal(t, map[string]string{"app": "a", "controller-revision-hash": "web-abc", "pod-template-hash": "abc"}, pod.Labels)
	assert.Empty(t, pod.Annotations)
	assert.Equal(t, b.Template.Spec, pod.Spec)
}
