package cloneset

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
