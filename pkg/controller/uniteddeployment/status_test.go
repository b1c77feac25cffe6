package uniteddeployment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
)

// Case uniteddeployment 24.
func TestStatusCountsThePodsOfAllSubsets(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	w.rounds("a")
	status := w.united().Status
	assert.EqualValues(t, 5, status.Replicas)
	assert.EqualValues(t, 2, status.ReadyReplicas)
	assert.EqualValues(t, 5, status.UpdatedReplicas)
	assert.EqualValues(t, 2, status.UpdatedReadyReplicas)
	assert.EqualValues(t, 1, status.ObservedGeneration)
	assert.Equal(t, "app=web", status.LabelSelector)
	assert.Equal(t, []v1beta1.UnitedDeploymentSubsetStatus{{Name: "a", Replicas: 2, ReadyReplicas: 2}, {Name: "b", Replicas: 3}},
		status.SubsetStatuses)
}

// Case uniteddeployment 25.
func TestRevisionIsCurrentWhenAllPodsAreReady(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	w.rounds("a", "b")
	first := w.united().Status.CurrentRevision
	w.edit(image("web:2"))
	status := w.united().Status
	second := status.UpdatedRevision
	assert.Equal(t, first, status.CurrentRevision)
	updated := conditionIn(status.Conditions, v1beta1.UnitedDeploymentUpdated)
	assert.Equal(t, corev1.ConditionFalse, updated.Status)
	assert.Equal(t, "updating to revision "+second, updated.Message)
	w.rounds("a", "b")
	status = w.united().Status
	assert.Equal(t, second, status.CurrentRevision)
	updated = conditionIn(status.Conditions, v1beta1.UnitedDeploymentUpdated)
	assert.Equal(t, "UnitedDeploymentRevisionUpdated", updated.Reason)
	assert.Equal(t, "updated to revision "+second, updated.Message)
}

func TestPodsAreCountedThroughReplicaSets(t *testing.T) {
	w := newWorld(t, ofDeployments())
	w.settle()
	deployment := w.workloads()["a"]
	labels := with(deployment.GetLabels())
	w.Add(replicaSetOf(deployment), podOf("through", "set", labels), podOf("other", "other", labels))
	w.settle()
	assert.EqualValues(t, 1, w.united().Status.UpdatedReplicas)
	assert.Equal(t, w.united().Status.CurrentRevision, deployment.GetLabels()[pub.KruiseControllerRevisionHashKey])
}

// With many Pods, counts that keep changing are written once a second, and a pass runs only from time to time.
func TestCountsOfManyPodsAreWrittenFromTimeToTime(t *testing.T) {
	w := newWorld(t, ofCloneSets(), scale(100))
	w.settle()
	ready := func(n int32) {
		set := w.cloneSet("a")
		set.Status.Replicas, set.Status.ReadyReplicas = 100, n
		w.Update(set)
		w.Observe()
		w.Writes()
	}
	ready(1)
	w.settle()
	ready(2)
	assert.Equal(t, 20*time.Millisecond, w.Step("ns", "web"), "the last pass was just now")
	assert.Empty(t, w.Writes())
	w.Clock.SetTime(w.Clock.Now().Add(500 * time.Millisecond))
	assert.Equal(t, 500*time.Millisecond, w.Step("ns", "web"))
	assert.EqualValues(t, 1, w.united().Status.ReadyReplicas)
	w.pass(1)
	w.settle()
	assert.EqualValues(t, 2, w.united().Status.ReadyReplicas)
	ready(3)
	w.edit(scale(101))
	assert.EqualValues(t, 3, w.united().Status.ReadyReplicas, "a change by the user does not wait")
	w.edit(scale(100))
	w.run("a", "b")
	w.pass(1)
	w.settle()
	require.EqualValues(t, 100, w.united().Status.UpdatedReadyReplicas)
	pod := w.Pods()[0]
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	w.Update(pod)
	w.pass(1)
	w.settle()
	assert.EqualValues(t, 99, w.united().Status.UpdatedReadyReplicas)
	pod.Status.Conditions[0].Status = corev1.ConditionTrue
	w.Update(pod)
	w.Clock.SetTime(w.Clock.Now().Add(20 * time.Millisecond))
	w.settle()
	assert.EqualValues(t, 100, w.united().Status.UpdatedReadyReplicas, "the end of an update does not wait")
}

func TestMessagesOfConditions(t *testing.T) {
	for name, test := range map[string]struct {
		reason, message string
		age             int
		want            string
	}{
		"a lasting failure keeps its message":     {reasonError, "port 2", 29, "port 1"},
		"a failure that lasts for long":           {reasonError, "port 2", 30, "port 2"},
		"another reason":                          {reasonUpdating, "to b", 1, "to b"},
		"the time of the first failure is unsure": {reasonError, "port 2", -1, "port 2"},
	} {
		t.Run(name, func(t *testing.T) {
			before := []v1beta1.UnitedDeploymentCondition{{
				Type: "T", Status: corev1.ConditionFalse, Reason: test.reason, Message: "port 1", LastTransitionTime: ago(test.age),
			}}
			var rewordings controller.Rewordings
			p := &pass{now: now, reword: func(since time.Time) bool { return rewordings.Due("u", since, now) }}
			after := p.setCondition(before, &v1beta1.UnitedDeploymentCondition{
				Type: "T", Status: corev1.ConditionFalse, Reason: test.reason, Message: test.message,
			})
			assert.Equal(t, test.want, after[0].Message)
			assert.Equal(t, ago(test.age), after[0].LastTransitionTime)
		})
	}
}

func TestChangesOfPodsThatMatter(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"label":              {func(p *corev1.Pod) { p.Labels["a"] = "b" }, true},
		"annotation":         {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"phase":              {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"node":               {func(p *corev1.Pod) { p.Spec.NodeName = "node" }, true},
		"deletion":           {func(p *corev1.Pod) { p.DeletionTimestamp = new(ago(0)) }, true},
		"why it has no node": {func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }, true},
		"restart":            {func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := pendingPod("new", 0)
			after := before.DeepCopy()
			test.edit(after)
			assert.Equal(t, test.want, matters(before, after))
		})
	}
	unready := readyPod("new", 0)
	unready.Status.Conditions[0].Status = corev1.ConditionFalse
	assert.True(t, matters(readyPod("new", 0), unready))
	assert.True(t, matters(nil, unready))
}
