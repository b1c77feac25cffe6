package spread

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// spreadOf returns a WorkloadSpread with a record of its first subset, which may have one Pod.
func spreadOf(kind string, recorded v1beta1.WorkloadSpreadSubsetStatus) *v1beta1.WorkloadSpread {
	recorded.Name = "a"
	all := v1beta1.WorkloadSpreadSubsetStatuses{recorded, {Name: "b"}}
	return &v1beta1.WorkloadSpread{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ws"},
		Spec: v1beta1.WorkloadSpreadSpec{
			TargetRef: &v1beta1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: kind, Name: "web"},
			Subsets:   []v1beta1.WorkloadSpreadSubset{{Name: "a", MaxReplicas: new(intstr.FromInt32(1))}, {Name: "b"}},
		},
		Status: v1beta1.WorkloadSpreadStatus{
			SubsetStatuses: slices.Clone(all), VersionedSubsetStatuses: map[string]v1beta1.WorkloadSpreadSubsetStatuses{Unversioned: all},
		},
	}
}

func at(seconds int) metav1.Time { return metav1.NewTime(time.Unix(start+int64(seconds), 0)) }

// A Pod keeps its slot when its creation is tried again. The slot does not expire while the Pod is stored, and a Pod of the same name
// that is deleted returns it first.
func TestPodKeepsItsSlotWhenItsCreationIsTriedAgain(t *testing.T) {
	type times = map[string]metav1.Time
	for name, tc := range map[string]struct {
		recorded v1beta1.WorkloadSpreadSubsetStatus
		now      int
		want     int
		creating times
		deleting times
	}{
		"at once":                   {v1beta1.WorkloadSpreadSubsetStatus{CreatingPods: times{"web": at(0)}}, 1, 0, times{"web": at(0)}, nil},
		"long before the slot ends": {v1beta1.WorkloadSpreadSubsetStatus{CreatingPods: times{"web": at(0)}}, 25, 0, times{"web": at(0)}, nil},
		"when the slot is about to end": {
			v1beta1.WorkloadSpreadSubsetStatus{CreatingPods: times{"web": at(0)}}, 26, 0, times{"web": at(26)}, nil,
		},
		"the former Pod is deleted": {
			v1beta1.WorkloadSpreadSubsetStatus{Replicas: 1, DeletingPods: times{"web": at(0)}}, 1, 0, times{"web": at(1)}, nil,
		},
		"the former Pod found no node": {
			v1beta1.WorkloadSpreadSubsetStatus{Replicas: 1, DeletingPods: times{"web": at(0)}, Conditions: []v1beta1.WorkloadSpreadSubsetCondition{
				{Type: v1beta1.SubsetSchedulable, Status: corev1.ConditionFalse},
			}}, 1, 1, nil, times{"web": at(0)},
		},
		"the slot of the former Pod is taken": {
			v1beta1.WorkloadSpreadSubsetStatus{Replicas: 1, CreatingPods: times{"other": at(0)}, DeletingPods: times{"web": at(0)}}, 1, 1,
			times{"other": at(0)}, times{"web": at(0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spread := spreadOf("CloneSet", tc.recorded)
			assert.Equal(t, tc.want, Reserve(spread, &Request{Version: Unversioned, Pod: "web", Key: "web"}, at(tc.now).Time))
			recorded := spread.Status.VersionedSubsetStatuses[Unversioned][0]
			assert.Equal(t, tc.creating, recorded.CreatingPods)
			if tc.deleting == nil {
				assert.Empty(t, recorded.DeletingPods)
			} else {
				assert.Equal(t, tc.deleting, recorded.DeletingPods)
			}
		})
	}
}

func TestOnlyRecordedSlotsAreReturned(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, subset string
		edit         func(*v1beta1.WorkloadSpread)
		want         bool
	}{
		"a Pod of a subset with a limit": {kind: "CloneSet", subset: "a", want: true},
		"without a limit":                {kind: "CloneSet", subset: "b"},
		"of a subset that was removed":   {kind: "CloneSet", subset: "gone"},
		"numbered Pods":                  {kind: "StatefulSet", subset: "a"},
		"nothing is recorded": {kind: "CloneSet", subset: "a", edit: func(spread *v1beta1.WorkloadSpread) {
			spread.Status = v1beta1.WorkloadSpreadStatus{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			spread := spreadOf(tc.kind, v1beta1.WorkloadSpreadSubsetStatus{Replicas: 1})
			if tc.edit != nil {
				tc.edit(spread)
			}
			before := spread.DeepCopy()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
			Release(spread, pod, Matched{Name: "ws", Subset: tc.subset}, at(1).Time)
			if !tc.want {
				assert.Equal(t, before, spread)
				return
			}
			recorded := spread.Status.VersionedSubsetStatuses[Unversioned][0]
			assert.Equal(t, map[string]metav1.Time{"web": at(1)}, recorded.DeletingPods)
			assert.EqualValues(t, 1, recorded.MissingReplicas)
		})
	}
}

func TestSlotIsReturnedOnce(t *testing.T) {
	spread := spreadOf("CloneSet", v1beta1.WorkloadSpreadSubsetStatus{CreatingPods: map[string]metav1.Time{"uid": at(0)}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-x"}}
	for _, now := range []int{1, 2} {
		Release(spread, pod, Matched{Name: "ws", Subset: "a", UID: "uid"}, at(now).Time)
	}
	recorded := spread.Status.VersionedSubsetStatuses[Unversioned][0]
	assert.Equal(t, map[string]metav1.Time{"web-x": at(0)}, recorded.CreatingPods, "both entries have the name of the Pod")
	assert.Equal(t, map[string]metav1.Time{"web-x": at(1)}, recorded.DeletingPods)
	assert.EqualValues(t, 1, recorded.MissingReplicas)
}

// Case pod-admission 10.
func TestNumberedPodsSkipSubsetsWithoutNodes(t *testing.T) {
	spread := &v1beta1.WorkloadSpread{Spec: v1beta1.WorkloadSpreadSpec{Subsets: []v1beta1.WorkloadSpreadSubset{
		{Name: "a", MaxReplicas: new(intstr.FromInt32(3))}, {Name: "b", MaxReplicas: new(intstr.FromInt32(3))}, {Name: "c"},
	}}}
	spread.Status.SubsetStatuses = []v1beta1.WorkloadSpreadSubsetStatus{{Name: "b", Conditions: []v1beta1.WorkloadSpreadSubsetCondition{
		{Type: v1beta1.SubsetSchedulable, Status: corev1.ConditionFalse},
	}}}
	var chosen []int
	for position := range 7 {
		chosen = append(chosen, OfPosition(spread, position))
	}
	assert.Equal(t, []int{0, 0, 0, 2, 2, 2, 2}, chosen)
	spread.Spec.Subsets = spread.Spec.Subsets[:1]
	assert.Equal(t, None, OfPosition(spread, 3))
}

func TestOlderPodOfTheSameNameDoesNotEndASlot(t *testing.T) {
	for name, tc := range map[string]struct {
		created int
		want    int
	}{
		"the Pod of the slot": {created: 10, want: 0},
		"a clock that lags":   {created: 9, want: 0},
		"the former Pod":      {created: 0, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			spread := spreadOf("CloneSet", v1beta1.WorkloadSpreadSubsetStatus{CreatingPods: map[string]metav1.Time{"web": at(10)}})
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "web", CreationTimestamp: at(tc.created),
				Annotations: map[string]string{pub.MatchedWorkloadSpreadKey: Matched{Name: "ws", Subset: "a"}.String()},
			}}
			Recount(spread, []*corev1.Pod{pod}, 1, Unversioned, at(11).Time)
			assert.Len(t, spread.Status.SubsetStatuses[0].CreatingPods, tc.want)
			assert.EqualValues(t, 1, spread.Status.SubsetStatuses[0].Replicas)
		})
	}
}
