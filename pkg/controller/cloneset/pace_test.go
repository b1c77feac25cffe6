package cloneset

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// until reconciles at each event and each requested delay, until a pass writes nothing and requests no delay. It returns the
// number of status writes.
func (w *world) until() (reports int) {
	w.t.Helper()
	for range 1000 {
		requeue := w.step()
		writes := w.Writes()
		for _, write := range writes {
			if strings.HasPrefix(write, "update clonesets/status") {
				reports++
			}
		}
		w.kubelet()
		if requeue == 0 && len(writes) == 0 {
			return reports
		}
		if len(writes) > 0 {
			requeue = 20 * time.Millisecond
		}
		w.wait(requeue)
	}
	require.FailNow(w.t, "it never settles")
	return 0
}

func TestLargeSetsWriteFewStatuses(t *testing.T) {
	w := newWorld(t, "", newSet(10, inPlaceIfPossible, knobs("", "20%", "")))
	w.r.statuses.Pace.Large = 10
	assert.LessOrEqual(t, w.until(), 5)
	assert.Equal(t, int32(10), w.set().Status.AvailableReplicas)
	w.wait(time.Minute)
	w.edit(image("app:2"))
	reports := w.until()
	assert.LessOrEqual(t, reports, 3, "five batches, in less than a second")
	status := w.set().Status
	assert.Equal(t, int32(10), status.UpdatedAvailableReplicas)
	assert.Equal(t, status.UpdateRevision, status.CurrentRevision)
}

func TestLargeSetsPauseBetweenPasses(t *testing.T) {
	w := newWorld(t, "", newSet(10))
	w.r.statuses.Pace.Large = 5
	w.until()
	w.wait(time.Minute)
	name := w.names()[0]
	w.lose(name)
	w.step()
	assert.Len(t, w.Pods(), 10, "the first event after a while is worked on at once")
	w.lose(w.names()[0])
	assert.NotZero(t, w.step(), "the next one waits for others to come")
	assert.Len(t, w.Pods(), 9)
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](11) })
	w.step()
	assert.Len(t, w.Pods(), 11, "a user never waits")
}

func TestPaceIsForSetsOfManyPods(t *testing.T) {
	w := rolled(t, "", newSet(3))
	for range 3 {
		w.lose(w.names()[0])
		assert.Zero(t, w.step())
		assert.Len(t, w.Pods(), 3)
	}
	set := w.set()
	many := set.Status.DeepCopy()
	many.Replicas, many.Conditions = 100, []v1beta1.CloneSetCondition{{Type: v1beta1.CloneSetConditionFailedScale, Status: corev1.ConditionTrue}}
	w.r.statuses.Pace.Reported(set.UID, 100)
	wait, err := w.r.statuses.Report(t.Context(), set, many, 100, urgent(set, many))
	require.NoError(t, err)
	assert.Zero(t, wait, "what went wrong is told at once")
}
