package podreadiness

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/podstate"
)

func newPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", ResourceVersion: "1"},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: pub.KruisePodReadyConditionType}}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func held(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: pub.KruisePodReadyConditionType, Status: corev1.ConditionFalse}}
}

func ownedBy(kind string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps.kruise.io/v1beta1", Kind: kind, Name: "o", UID: "o", Controller: new(true),
		}}
	}
}

// Cases lifecycle 15, 16.
func TestOneReconcileGivesTheCondition(t *testing.T) {
	tests := map[string]struct {
		pod   *corev1.Pod
		given bool
	}{
		"a Pod without an owner":    {newPod(), true},
		"of a Kruise workload":      {newPod(ownedBy("UnitedDeployment")), true},
		"of one that does it":       {newPod(ownedBy("CloneSet")), false},
		"without the gate":          {newPod(func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }), false},
		"with a condition":          {newPod(held), false},
		"on its way out":            {newPod(func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = new(metav1.Now()), []string{"a/b"} }), false},
		"of another group's object": {newPod(ownedBy("CloneSet"), func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.com/v1" }), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := controllertest.New(t, "", tc.pod)
			f.Observe()
			c, err := New(f.Deps)
			require.NoError(t, err)
			_, err = c.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "p"})
			require.NoError(t, err)
			if !tc.given {
				assert.Empty(t, f.Writes())
				return
			}
			assert.Equal(t, []string{"patch pods/status p"}, f.Writes())
			condition := podstate.Condition(f.Pods()[0], pub.KruisePodReadyConditionType)
			require.NotNil(t, condition)
			assert.Equal(t, corev1.ConditionTrue, condition.Status)
			assert.True(t, condition.LastTransitionTime.Time.Equal(controllertest.Now))
			assert.Empty(t, condition.Message)
		})
	}
}

func TestDeletedPodIsNotAnError(t *testing.T) {
	f := controllertest.New(t, "")
	c, err := New(f.Deps)
	require.NoError(t, err)
	assert.Equal(t, Name, c.Name())
	_, err = c.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "gone"})
	require.NoError(t, err)
}
