package pod

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// Cases pod-admission 1, 2.
func TestReadinessGate(t *testing.T) {
	gates := func(types ...corev1.PodConditionType) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			for _, name := range types {
				pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: name})
			}
		}
	}
	cloneSet := ownedBy("apps.kruise.io/v1beta1", "CloneSet", "c", "c")
	notController := func(pod *corev1.Pod) { pod.OwnerReferences[0].Controller = nil }
	tests := map[string]struct {
		pod   *corev1.Pod
		flags string
		want  []corev1.PodConditionType
	}{
		"a Pod without an owner":          {pod: newPod()},
		"a Deployment's":                  {pod: newPod(ownedBy("apps/v1", "ReplicaSet", "r", "r"))},
		"a CloneSet's":                    {pod: newPod(cloneSet), want: []corev1.PodConditionType{"KruisePodReady"}},
		"a CloneSet's, of the old API":    {pod: newPod(ownedBy("apps.kruise.io/v1alpha1", "CloneSet", "c", "c")), want: []corev1.PodConditionType{"KruisePodReady"}},
		"once":                            {pod: newPod(cloneSet, gates("InPlaceUpdateReady", "KruisePodReady")), want: []corev1.PodConditionType{"InPlaceUpdateReady", "KruisePodReady"}},
		"after others":                    {pod: newPod(cloneSet, gates("a/b")), want: []corev1.PodConditionType{"a/b", "KruisePodReady"}},
		"owned and not controlled":        {pod: newPod(cloneSet, notController)},
		"of a group whose name begins so": {pod: newPod(ownedBy("apps.kruise.io.example.com/v1", "CloneSet", "c", "c"))},
		"a Pod without an owner, with the gate for all": {pod: newPod(), flags: "KruisePodReadinessGate=true", want: []corev1.PodConditionType{"KruisePodReady"}},
		"with the gate for all, and it has it":          {pod: newPod(gates("KruisePodReady")), flags: "KruisePodReadinessGate=true", want: []corev1.PodConditionType{"KruisePodReady"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.pod.DeepCopy()
			pod := newWorld(t, test.flags, nil).create(test.pod)
			var have []corev1.PodConditionType
			for _, gate := range pod.Spec.ReadinessGates {
				have = append(have, gate.ConditionType)
			}
			assert.Equal(t, test.want, have)
			if test.want == nil {
				assert.Equal(t, before, pod)
			}
		})
	}
}
