package kinds_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/kinds"
)

func TestProgress(t *testing.T) {
	meta := metav1.ObjectMeta{Generation: 2}
	cloneSet := func(change func(*v1beta1.CloneSet)) kinds.Object {
		set := &v1beta1.CloneSet{ObjectMeta: meta, Status: v1beta1.CloneSetStatus{
			ObservedGeneration: 2, Replicas: 5, AvailableReplicas: 3, UpdatedReplicas: 2, UpdatedAvailableReplicas: 1,
		}}
		set.Spec.Replicas = new(int32(4))
		set.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{}
		change(set)
		return set
	}
	statefulSet := func(change func(*v1beta1.StatefulSet)) kinds.Object {
		set := &v1beta1.StatefulSet{ObjectMeta: meta, Status: v1beta1.StatefulSetStatus{
			ObservedGeneration: 2, Replicas: 5, AvailableReplicas: 3, UpdatedReplicas: 2, UpdatedAvailableReplicas: 1,
		}}
		set.Spec.Replicas = new(int32(4))
		set.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateStatefulSetStrategy{}
		change(set)
		return set
	}
	daemonSet := func(change func(*v1beta1.DaemonSet)) kinds.Object {
		set := &v1beta1.DaemonSet{ObjectMeta: meta, Status: v1beta1.DaemonSetStatus{
			ObservedGeneration: 2, DesiredNumberScheduled: 4, CurrentNumberScheduled: 5, UpdatedNumberScheduled: 2, NumberAvailable: 3,
		}}
		set.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateDaemonSet{}
		change(set)
		return set
	}
	for name, test := range map[string]struct {
		object kinds.Object
		want   kinds.Progress
		done   bool
	}{
		"a CloneSet": {cloneSet(func(*v1beta1.CloneSet) {}), kinds.Progress{Target: 4, Updated: 2, Available: 1, Observed: true}, false},
		"a partition that is reached": {cloneSet(func(s *v1beta1.CloneSet) {
			s.Spec.UpdateStrategy.RollingUpdate.Partition, s.Status.UpdatedAvailableReplicas = new(intstr.FromString("50%")), 2
		}), kinds.Progress{Target: 2, Updated: 2, Available: 2, Observed: true}, true},
		"a spec that is not observed": {cloneSet(func(s *v1beta1.CloneSet) {
			s.Generation, s.Status.UpdatedReplicas, s.Status.UpdatedAvailableReplicas = 3, 4, 4
		}), kinds.Progress{Target: 4, Updated: 4, Available: 4}, false},
		"paused": {cloneSet(func(s *v1beta1.CloneSet) { s.Spec.UpdateStrategy.RollingUpdate.Paused = true }),
			kinds.Progress{Target: 4, Updated: 2, Available: 1, Observed: true, Paused: true}, false},
		"OnDelete": {cloneSet(func(s *v1beta1.CloneSet) {
			s.Spec.UpdateStrategy = v1beta1.CloneSetUpdateStrategy{Type: v1beta1.OnDeleteCloneSetStrategyType}
		}), kinds.Progress{Target: 4, Updated: 2, Available: 1, Observed: true, Paused: true, OnDelete: true}, false},
		"OnDelete with a partition": {cloneSet(func(s *v1beta1.CloneSet) {
			s.Spec.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetStrategyType
			s.Spec.UpdateStrategy.RollingUpdate.Partition, s.Status.UpdatedAvailableReplicas = new(intstr.FromInt32(2)), 2
		}), kinds.Progress{Target: 4, Updated: 2, Available: 2, Observed: true, Paused: true, OnDelete: true}, false},
		"beyond its deadline": {cloneSet(func(s *v1beta1.CloneSet) {
			s.Status.Conditions = []v1beta1.CloneSetCondition{{Type: v1beta1.CloneSetConditionProgressing, Status: corev1.ConditionFalse}}
		}), kinds.Progress{Target: 4, Updated: 2, Available: 1, Observed: true, Exceeded: true}, false},
		"a StatefulSet": {statefulSet(func(s *v1beta1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(1)) }),
			kinds.Progress{Target: 3, Updated: 2, Available: 1, Observed: true}, false},
		"a partition above the replicas": {statefulSet(func(s *v1beta1.StatefulSet) {
			s.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(9))
		}), kinds.Progress{Updated: 2, Available: 1, Observed: true}, true},
		"a DaemonSet": {daemonSet(func(*v1beta1.DaemonSet) {}), kinds.Progress{Target: 4, Updated: 2, Available: 1, Observed: true}, false},
		"a DaemonSet with a percentage, which is rounded down": {daemonSet(func(s *v1beta1.DaemonSet) {
			s.Spec.UpdateStrategy.RollingUpdate.Partition = new(intstr.FromString("30%"))
		}), kinds.Progress{Target: 3, Updated: 2, Available: 1, Observed: true}, false},
		"a paused DaemonSet": {daemonSet(func(s *v1beta1.DaemonSet) { s.Spec.UpdateStrategy.RollingUpdate.Paused = new(true) }),
			kinds.Progress{Target: 4, Updated: 2, Available: 1, Observed: true, Paused: true}, false},
		"a DaemonSet under OnDelete with a partition": {daemonSet(func(s *v1beta1.DaemonSet) {
			s.Spec.UpdateStrategy.Type = v1beta1.OnDeleteDaemonSetStrategyType
			s.Spec.UpdateStrategy.RollingUpdate.Partition, s.Status.NumberAvailable = new(intstr.FromInt32(2)), 4
		}), kinds.Progress{Target: 4, Updated: 2, Available: 2, Serving: 4, Observed: true, Paused: true, OnDelete: true}, false},
		"a DaemonSet that is complete": {daemonSet(func(s *v1beta1.DaemonSet) {
			s.Status.UpdatedNumberScheduled, s.Status.NumberAvailable = 4, 4
		}), kinds.Progress{Target: 4, Updated: 4, Available: 4, Serving: 4, Observed: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.Wanted, test.want.Existing = 4, 5
			if test.want.Serving == 0 {
				test.want.Serving = 3
			}
			progress := kinds.ProgressOf(test.object)
			assert.Equal(t, &test.want, progress)
			assert.Equal(t, test.done, progress.Done())
		})
	}
	assert.Nil(t, kinds.Of(kinds.CloneSet).Progress(&corev1.Pod{}), "of another kind")
}

func TestUnsettled(t *testing.T) {
	settled := kinds.Progress{Target: 4, Updated: 4, Available: 4, Wanted: 4, Existing: 4, Serving: 4}
	for name, test := range map[string]struct {
		change func(*kinds.Progress)
		want   string
	}{
		"settled":                  {func(*kinds.Progress) {}, ""},
		"none wanted":              {func(p *kinds.Progress) { *p = kinds.Progress{} }, ""},
		"a partition keeps Pods":   {func(p *kinds.Progress) { p.Target, p.Updated, p.Available = 1, 1, 1 }, ""},
		"paused after the rollout": {func(p *kinds.Progress) { p.Paused = true }, ""},
		"OnDelete keeps Pods":      {func(p *kinds.Progress) { p.Paused, p.OnDelete, p.Updated, p.Available = true, true, 1, 1 }, ""},
		"paused":                   {func(p *kinds.Progress) { p.Paused, p.Updated, p.Existing = true, 1, 3 }, kinds.RolloutPaused},
		"scale-out":                {func(p *kinds.Progress) { p.Existing, p.Updated = 3, 3 }, kinds.PodsMissing},
		"updating":                 {func(p *kinds.Progress) { p.Updated, p.Existing = 3, 5 }, kinds.RolloutUnderWay},
		"scale-in":                 {func(p *kinds.Progress) { p.Existing, p.Serving = 5, 5 }, kinds.PodsSurplus},
		"an old Pod is down":       {func(p *kinds.Progress) { p.Target, p.Serving = 1, 3 }, kinds.PodsUnavailable},
		"a new Pod is down":        {func(p *kinds.Progress) { p.Available = 3 }, kinds.PodsUnavailable},
	} {
		p := settled
		test.change(&p)
		reason, message := p.Unsettled()
		assert.Equal(t, test.want, reason, name)
		assert.Equal(t, reason == "", message == "", name)
	}
}
