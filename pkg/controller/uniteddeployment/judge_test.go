package uniteddeployment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

var now = controllertest.Now

func ago(seconds int) metav1.Time {
	return metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second))
}

// pendingPod returns a Pod at a revision that the scheduler has no node for.
func pendingPod(revision string, age int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(age), Labels: map[string]string{pub.KruiseControllerRevisionHashKey: revision}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

// readyPod returns a Pod at a revision that has been ready for some seconds.
func readyPod(revision string, since int) *corev1.Pod {
	pod := pendingPod(revision, since)
	pod.Spec.NodeName = "node"
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(since),
	}}}
	return pod
}

// judged returns a pass at the revision new, whose update has lasted for some seconds.
func judged(reserve bool, updating int) *pass {
	united := &v1beta1.UnitedDeployment{}
	adaptively(reserve, 2)(united)
	united.Status.Conditions = []v1beta1.UnitedDeploymentCondition{{
		Type: v1beta1.UnitedDeploymentUpdated, Status: corev1.ConditionFalse, LastTransitionTime: ago(updating),
	}}
	return &pass{united: united, now: now, label: "new"}
}

// Case uniteddeployment 19.
func TestWhenASubsetIsUnschedulable(t *testing.T) {
	for name, test := range map[string]struct {
		pods   []*corev1.Pod
		counts counts
		want   bool
		wait   time.Duration
	}{
		"a Pod waits for too long":      {[]*corev1.Pod{pendingPod("new", 30)}, counts{replicas: 1}, true, 25 * time.Second},
		"a Pod waits":                   {[]*corev1.Pod{pendingPod("new", 20)}, counts{replicas: 1}, false, 10 * time.Second},
		"the workload has all it wants": {[]*corev1.Pod{pendingPod("new", 30)}, counts{replicas: 1, ready: 1}, false, 25 * time.Second},
		"the Pods do not exist yet":     {nil, counts{}, false, 25 * time.Second},
		"one of two waits for too long": {
			[]*corev1.Pod{readyPod("new", 40), pendingPod("new", 40)}, counts{replicas: 2, ready: 1}, true, 25 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(false, 0)
			set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(5)}}
			s := &subset{Subset: &v1beta1.Subset{Name: "a"}, child: &child{Object: set, parts: parts{counts: test.counts}}, pods: test.pods}
			p.judgeSubset(s, p.adaptive())
			assert.Equal(t, test.want, s.schedulable != nil && s.schedulable.Status == corev1.ConditionFalse)
			assert.Equal(t, test.wait, p.wait)
		})
	}
}

// Case uniteddeployment 21.
func TestWhichPodsAreReserved(t *testing.T) {
	labelled := func(pod *corev1.Pod, value string) *corev1.Pod {
		pod.Labels[pub.ReservedPodKey] = value
		return pod
	}
	for name, test := range map[string]struct {
		pod            *corev1.Pod
		marked         bool
		updating       int
		want, timedOut bool
	}{
		"new Pod of a marked subset":                   {pendingPod("new", 0), true, 0, true, false},
		"new Pod of another subset":                    {pendingPod("new", 0), false, 0, false, false},
		"waits for too long":                           {labelled(pendingPod("new", 30), "false"), false, 0, true, false},
		"ready Pod of a marked subset":                 {labelled(readyPod("new", 1), "false"), true, 0, false, false},
		"reserved and pending":                         {labelled(pendingPod("new", 0), "true"), false, 0, true, false},
		"reserved and just ready":                      {labelled(readyPod("new", 299), "true"), true, 0, true, false},
		"reserved and ready for long enough":           {labelled(readyPod("new", 300), "true"), true, 0, false, false},
		"reserved and ready at an older revision":      {labelled(readyPod("old", 300), "true"), true, 0, true, false},
		"reserved at an older revision for too long":   {labelled(pendingPod("old", 300), "true"), true, 30, true, true},
		"older revision, waits since the update began": {labelled(pendingPod("old", 300), "false"), false, 30, true, true},
		"older revision, the update just began":        {labelled(pendingPod("old", 300), "false"), false, 29, false, false},
		"older revision, ready":                        {labelled(readyPod("old", 300), "false"), false, 30, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(true, test.updating)
			reserved, timedOut := p.reserved(&subset{marked: test.marked}, test.pod, p.adaptive())
			assert.Equal(t, test.want, reserved)
			assert.Equal(t, test.timedOut, timedOut)
		})
	}
}

func TestTimeOfTheConditionSchedulable(t *testing.T) {
	s := &subset{}
	s.found(false, reasonCreated, "subset was added", ago(20).Time)
	s.found(false, reasonCreated, "subset was added", ago(10).Time)
	assert.Equal(t, ago(20), s.schedulable.LastTransitionTime, "nothing changed")
	s.found(false, reasonReschedule, "reserved pods found", ago(5).Time)
	assert.Equal(t, ago(5), s.schedulable.LastTransitionTime, "another reason")
	s.found(true, reasonReschedule, "no reserved pods", now)
	assert.Equal(t, ago(0), s.schedulable.LastTransitionTime, "another status")
}
