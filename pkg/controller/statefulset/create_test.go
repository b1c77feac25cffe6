package statefulset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// Case statefulset 1.
func TestPodsAreCreatedOneAfterTheOther(t *testing.T) {
	w := newWorld(t, "", newSet(3, volume("data", "1Gi")))
	for _, created := range []string{"web-0", "web-1", "web-2"} {
		for range 2 {
			w.step()
			assert.Equal(t, created, w.names()[len(w.names())-1], "the next Pod waits until this one is ready")
			w.kubelet()
		}
	}
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names())
	assert.Equal(t, []string{"data-web-0", "data-web-1", "data-web-2"}, w.claimNames())
	assert.Equal(t, []string{
		"Normal SuccessfulCreate create Claim data-web-0 Pod web-0 in StatefulSet web success",
		"Normal SuccessfulCreate create Pod web-0 in StatefulSet web successful",
	}, w.Events()[:2])

	set := w.set()
	pod := w.pod("web-1")
	assert.Equal(t, map[string]string{
		"app": "web", "statefulset.kubernetes.io/pod-name": "web-1", "apps.kubernetes.io/pod-index": "1",
		"controller-revision-hash": set.Status.UpdateRevision, pub.LifecycleStateKey: "Normal",
	}, pod.Labels)
	assert.Equal(t, []string{"web-1", "headless"}, []string{pod.Spec.Hostname, pod.Spec.Subdomain})
	assert.Equal(t, "data-web-1", pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	assert.Equal(t, []corev1.PodReadinessGate{{ConditionType: pub.KruisePodReadyConditionType}}, pod.Spec.ReadinessGates)
	owner := metav1.GetControllerOf(pod)
	require.NotNil(t, owner)
	assert.Equal(t, []string{"apps.kruise.io/v1beta1", "StatefulSet", "web"}, []string{owner.APIVersion, owner.Kind, owner.Name})
	claim := w.claim("data-web-1")
	assert.Equal(t, map[string]string{"app": "web"}, claim.Labels)
	assert.Empty(t, claim.OwnerReferences)

	status := set.Status
	assert.Equal(t, []int32{3, 3, 3, 3, 3, 3}, []int32{
		status.Replicas, status.ReadyReplicas, status.AvailableReplicas, status.CurrentReplicas, status.UpdatedReplicas, status.UpdatedReadyReplicas,
	})
	assert.Equal(t, status.UpdateRevision, status.CurrentRevision)
	assert.Equal(t, []any{"app=web", int64(1), int32(0)}, []any{status.LabelSelector, status.ObservedGeneration, *status.CollisionCount})
}

func TestParallelPodsAreCreatedAtOnce(t *testing.T) {
	w := newWorld(t, "", newSet(3, parallel))
	w.step()
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names())
}

// Cases statefulset 10, 11, 12.
func TestReservedOrdinalsAreSkipped(t *testing.T) {
	for name, tc := range map[string]struct {
		edits []edit
		gates string
		want  []string
	}{
		"one is reserved":        {[]edit{reserve("1")}, "", []string{"web-0", "web-2", "web-3"}},
		"one fewer":              {[]edit{reserve("1"), replicas(2)}, "", []string{"web-0", "web-2"}},
		"a range is reserved":    {[]edit{reserve("0-2")}, "", []string{"web-3", "web-4", "web-5"}},
		"one beyond the range":   {[]edit{reserve("7")}, "", []string{"web-0", "web-1", "web-2"}},
		"a start without a gate": {[]edit{start(2)}, "", []string{"web-0", "web-1", "web-2"}},
		"from a start": {
			[]edit{start(2), reserve("1", "3"), replicas(4)}, "StatefulSetStartOrdinal=true", []string{"web-2", "web-4", "web-5", "web-6"},
		},
	} {
		for _, policy := range map[string][]edit{"ordered": nil, "parallel": {parallel}} {
			t.Run(name, func(t *testing.T) {
				w := rolled(t, tc.gates, newSet(3, policy...))
				w.edit(tc.edits...)
				w.settle()
				assert.Equal(t, tc.want, w.names())
				w.edit(reserve(), replicas(3), start(0))
				w.settle()
				assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names())
			})
		}
	}
}
