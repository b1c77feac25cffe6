package podcontrol

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func blueprint() *Blueprint {
	return &Blueprint{
		Owner: metav1.OwnerReference{UID: "u", Name: "web"}, Name: "web", Namespace: "ns", Revision: "web-abc",
		MatchLabels: map[string]string{"app": "a"},
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
		"app": "a", "apps.kruise.io/cloneset-instance-id": "x2x2x", "controller-revision-hash": "web-abc", "pod-template-hash": "abc",
		"lifecycle.apps.kruise.io/state": "PreparingNormal",
	}, pod.Labels)
	assert.Equal(t, "2025-12-31T23:00:00Z", pod.Annotations["lifecycle.apps.kruise.io/timestamp"])
	assert.Equal(t, []corev1.PodReadinessGate{{ConditionType: "mine"}, {ConditionType: "InPlaceUpdateReady"}, {ConditionType: "KruisePodReady"}},
		pod.Spec.ReadinessGates)
	assert.Equal(t, "data-web-x2x2x", pod.Spec.Volumes[1].PersistentVolumeClaim.ClaimName)
	assert.Len(t, pod.Spec.Volumes, 2)
	assert.Equal(t, map[string]string{"app": "a"}, b.Template.Labels, "the template is left alone")

	b.ShortHash = true
	assert.Equal(t, "abc", b.Build("y", time.Now()).Labels["controller-revision-hash"])
}

func TestClaims(t *testing.T) {
	claims := blueprint().Claims("x2x2x")
	require.Len(t, claims, 1)
	assert.Equal(t, "data-web-x2x2x", claims[0].Name)
	assert.Equal(t, map[string]string{"own": "1", "app": "a", "apps.kruise.io/cloneset-instance-id": "x2x2x"}, claims[0].Labels)
}

func TestNewIDAvoidsTakenOnes(t *testing.T) {
	taken := map[string]bool{}
	for range 1000 {
		NewID(taken)
	}
	assert.Len(t, taken, 1000)
}

func TestSlowStart(t *testing.T) {
	tests := map[string]struct {
		n, failFrom     int
		calls, succeeds int
	}{
		"all succeed":                 {10, 99, 10, 10},
		"none wanted":                 {0, 0, 0, 0},
		"the first fails alone":       {10, 0, 1, 0},
		"the third batch is the last": {10, 5, 7, 5},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			succeeded, err := SlowStart(tc.n, func(i int) error {
				calls.Add(1)
				if i >= tc.failFrom {
					return errors.New("quota")
				}
				return nil
			})
			assert.Equal(t, tc.calls, int(calls.Load()))
			assert.Equal(t, tc.succeeds, succeeded)
			assert.Equal(t, tc.succeeds < tc.n, err != nil)
		})
	}
}
