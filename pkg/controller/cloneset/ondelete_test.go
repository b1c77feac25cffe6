package cloneset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Case cloneset 38.
func TestOnDeleteCountsReplacedPods(t *testing.T) {
	w := rolled(t, "", newSet(5))
	replicas := func(n int32) func(*v1beta1.CloneSetSpec) {
		return func(s *v1beta1.CloneSetSpec) { s.Replicas = new(n) }
	}
	updated := func() (updated, available int32) {
		w.settle()
		return w.set().Status.UpdatedReplicas, w.set().Status.UpdatedAvailableReplicas
	}
	loseOld := func(n int) {
		for _, pod := range w.Pods() {
			if n > 0 && pod.Spec.Containers[0].Image == "app:1" {
				w.lose(pod.Name)
				n--
			}
		}
	}
	requireCounts := func(want int32, when string) {
		t.Helper()
		all, available := updated()
		assert.Equal(t, []int32{want, want}, []int32{all, available}, when)
	}
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetStrategyType })
	requireCounts(0, "no Pod was deleted")
	loseOld(2)
	requireCounts(2, "two were deleted")
	w.edit(replicas(3))
	requireCounts(2, "old Pods go first")
	w.edit(replicas(5))
	requireCounts(4, "new Pods are of the new template")
	loseOld(1)
	requireCounts(5, "the last old one was deleted")
}

// Case cloneset 38a: with OnDelete, no Pod is created for a surge, and all new Pods are at the update revision.
func TestOnDeleteIgnoresTheSettingsOfRollingUpdates(t *testing.T) {
	paused := func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true }
	w := rolled(t, "", newSet(3, knobs("2", "1", "1"), deadline(60), paused, onDeleteOnly))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 3}, w.images())
	assert.Equal(t, int32(3), w.set().Status.ExpectedUpdatedReplicas)
	w.lose(w.names()[0])
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 1}, w.images())
	assert.Equal(t, "CloneSetUpdated", w.progressOf().Reason, "neither paused nor at the end of a partition")
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = new(int32(4)) })
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2, "app:2": 2}, w.images())
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = new(int32(2)) })
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 2}, w.images(), "old Pods go first")
	assert.Equal(t, "2", w.set().Spec.UpdateStrategy.RollingUpdate.Partition.String(), "what the user wrote stays")
}

// With maxUnavailable 0, a rolling update needs its surge. OnDelete has none, and still replaces a Pod that the user picks.
func TestOnDeleteReplacesAPickedPodWithoutSurge(t *testing.T) {
	w := rolled(t, "", newSet(3, knobs("", "0", "1"), onDeleteOnly))
	doomed := w.names()[0]
	w.change(doomed, func(p *corev1.Pod) { p.Labels["apps.kruise.io/specified-delete"] = "true" })
	w.settle()
	assert.NotContains(t, w.names(), doomed)
	assert.Len(t, w.names(), 3)
	assert.Equal(t, 3, w.most)
}

func onDeleteOnly(s *v1beta1.CloneSetSpec) {
	s.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetStrategyType
}
