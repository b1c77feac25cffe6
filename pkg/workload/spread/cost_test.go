package spread

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Costs of an earlier pass do not decide which Pods are surplus.
func TestCostsDoNotDependOnEarlierCosts(t *testing.T) {
	ready := func(name, cost string, since time.Duration) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{pub.PodDeletionCostKey: cost}},
			Spec:       corev1.PodSpec{NodeName: name},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(start, 0).Add(-since))},
			}},
		}
	}
	spread := &v1beta1.WorkloadSpread{Spec: v1beta1.WorkloadSpreadSpec{
		Subsets: []v1beta1.WorkloadSpreadSubset{{Name: "a", MaxReplicas: new(intstr.FromInt32(1))}},
	}}
	pods := []*corev1.Pod{ready("old", "-100", time.Hour), ready("new", "100", time.Minute)}
	assert.Equal(t, map[string]int{"old": 100, "new": -100}, Costs(spread, [][]*corev1.Pod{pods}, nil, 2, false, time.Unix(start, 0)))
}
