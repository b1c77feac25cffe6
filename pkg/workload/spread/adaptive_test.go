package spread

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// The critical time is ten seconds. The time of a Pod counts from when the scheduler first found no node, and that of a subset from when
// its condition became False.
// Case workloadspread 10.
func TestWhenPodsAndSubsetsMove(t *testing.T) {
	type condition = v1beta1.WorkloadSpreadSubsetCondition
	failed := &condition{Type: v1beta1.SubsetSchedulable, Status: corev1.ConditionFalse, Reason: "PodUnschedulable", LastTransitionTime: at(100)}
	works := func(since int) condition {
		return condition{Type: v1beta1.SubsetSchedulable, Status: corev1.ConditionTrue, Reason: "Sufficient", LastTransitionTime: at(since)}
	}
	for name, tc := range map[string]struct {
		before    *condition
		subset    string
		since     int
		now       int
		moved     bool
		want      condition
		recovered []string
		wait      time.Duration
	}{
		"a Pod that waits":                   {subset: "a", since: 100, now: 109, want: works(109), wait: time.Second},
		"a Pod that has waited":              {subset: "a", since: 90, now: 100, moved: true, want: *failed, wait: recovery},
		"another Pod of the subset":          {before: failed, subset: "a", since: 120, now: 130, moved: true, want: *failed, wait: 270 * time.Second},
		"a subset that is tried again":       {before: failed, subset: "b", since: 100, now: 400, want: works(400), recovered: []string{"a"}},
		"a Pod that stays after that time":   {before: failed, subset: "a", since: 100, now: 400, moved: true, want: *failed},
		"a subset that is not yet due":       {before: failed, subset: "b", since: 100, now: 399, want: *failed, wait: time.Second},
		"a Pod of another WorkloadSpread":    {subset: "other", since: 0, now: 100, want: works(100)},
		"a subset that works stays as it is": {before: new(works(3)), subset: "b", since: 0, now: 100, want: works(3)},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := v1beta1.WorkloadSpreadSubsetStatus{}
			if tc.before != nil {
				recorded.Conditions = []condition{*tc.before}
			}
			spread := spreadOf("CloneSet", recorded)
			spread.Spec.ScheduleStrategy = v1beta1.WorkloadSpreadScheduleStrategy{
				Type: "Adaptive", Adaptive: &v1beta1.AdaptiveWorkloadSpreadStrategy{RescheduleCriticalSeconds: new(int32(10))},
			}
			matched := Matched{Name: "ws", Subset: tc.subset}
			if tc.subset == "other" {
				matched = Matched{Name: "other", Subset: "a"}
			}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: "web", CreationTimestamp: at(-1000), Annotations: map[string]string{pub.MatchedWorkloadSpreadKey: matched.String()},
				},
				Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: at(tc.since),
				}}},
			}
			before := spread.DeepCopy().Status.SubsetStatuses
			decided := Reschedule(spread, before, []*corev1.Pod{pod}, at(tc.now).Time)
			assert.Equal(t, tc.moved, len(decided.Delete) == 1)
			assert.Equal(t, []condition{tc.want}, spread.Status.SubsetStatuses[0].Conditions)
			assert.Equal(t, []condition{tc.want}, spread.Status.VersionedSubsetStatuses[Unversioned][0].Conditions)
			assert.Equal(t, tc.recovered, decided.Recovered)
			assert.Equal(t, tc.wait, decided.Wait)
		})
	}
}

// Pods of the last subset have no other place.
func TestLastSubsetIsAlwaysTried(t *testing.T) {
	spread := spreadOf("CloneSet", v1beta1.WorkloadSpreadSubsetStatus{Conditions: []v1beta1.WorkloadSpreadSubsetCondition{
		{Type: v1beta1.SubsetSchedulable, Status: corev1.ConditionFalse, LastTransitionTime: at(0)},
	}})
	spread.Spec.Subsets, spread.Status.SubsetStatuses = spread.Spec.Subsets[:1], spread.Status.SubsetStatuses[:1]
	spread.Spec.ScheduleStrategy = v1beta1.WorkloadSpreadScheduleStrategy{
		Type: "Adaptive", Adaptive: &v1beta1.AdaptiveWorkloadSpreadStrategy{RescheduleCriticalSeconds: new(int32(10))},
	}
	decided := Reschedule(spread, spread.DeepCopy().Status.SubsetStatuses, nil, at(1).Time)
	require.Len(t, spread.Status.SubsetStatuses[0].Conditions, 1)
	assert.Equal(t, corev1.ConditionTrue, spread.Status.SubsetStatuses[0].Conditions[0].Status)
	assert.Empty(t, decided.Recovered, "no Pod moves back to it")
}
