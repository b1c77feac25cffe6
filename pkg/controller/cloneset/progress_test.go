package cloneset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

func deadline(seconds int32) func(*v1beta1.CloneSetSpec) {
	return func(s *v1beta1.CloneSetSpec) { s.ProgressDeadlineSeconds = &seconds }
}

// progressOf returns the condition Progressing, or nil.
func (w *world) progressOf() *v1beta1.CloneSetCondition {
	w.t.Helper()
	for _, c := range w.set().Status.Conditions {
		if isProgressing(c) {
			return &c
		}
	}
	return nil
}

func (w *world) wait(d time.Duration) {
	w.Clock.SetTime(w.Clock.Now().Add(d))
	w.node.Now = w.Clock.Now()
}

func TestProgressingWithoutADeadline(t *testing.T) {
	w := rolled(t, "", newSet(1))
	assert.Nil(t, w.progressOf())
	w.edit(deadline(600))
	w.settle()
	assert.NotNil(t, w.progressOf())
	w.edit(deadline(2147483647))
	w.settle()
	assert.Nil(t, w.progressOf(), "switched off, it goes")
}

func TestProgressingFollowsTheRollout(t *testing.T) {
	w := newWorld(t, "", newSet(2, deadline(60), knobs("", "1", "")))
	w.node.Broken = func(image string) bool { return image == "broken:1" }
	w.step()
	assert.Equal(t, &v1beta1.CloneSetCondition{
		Type: "Progressing", Status: "True", Reason: "CloneSetUpdated", Message: "CloneSet is progressing",
		LastUpdateTime: metav1.NewTime(controllertest.Now), LastTransitionTime: metav1.NewTime(controllertest.Now),
	}, w.progressOf())
	w.kubelet()
	w.settle()
	assert.Equal(t, "CloneSetAvailable", w.progressOf().Reason)
	assert.Equal(t, "CloneSet is available", w.progressOf().Message)

	w.wait(time.Hour)
	w.edit(image("broken:1"), func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	w.settle()
	assert.Equal(t, "CloneSetPaused", w.progressOf().Reason)

	w.wait(time.Hour)
	w.edit(func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = false })
	w.settle()
	assert.Equal(t, "CloneSetUpdated", w.progressOf().Reason, "the deadline begins when the pause ends")
	w.wait(60 * time.Second)
	assert.Equal(t, time.Second, w.step(), "it asks to be called when the deadline is over")
	assert.Equal(t, corev1.ConditionTrue, w.progressOf().Status)

	w.wait(time.Second)
	w.step()
	late := w.progressOf()
	assert.Equal(t, corev1.ConditionFalse, late.Status)
	assert.Equal(t, "ProgressDeadlineExceeded", late.Reason)
	assert.Equal(t, "CloneSet revision "+w.set().Status.UpdateRevision+" has timed out progressing", late.Message)
	assert.True(t, late.LastTransitionTime.Time.Equal(w.Clock.Now()))
	w.wait(time.Hour)
	w.Writes()
	w.step()
	assert.Empty(t, w.Writes(), "it is told once")

	w.edit(image("app:2"))
	w.step()
	assert.Equal(t, "CloneSetUpdated", w.progressOf().Reason, "a new revision starts again")
	w.settle()
	assert.Equal(t, "CloneSetAvailable", w.progressOf().Reason)
	assert.Equal(t, map[string]int{"app:2": 2}, w.images())
}

func TestProgressingCountsFromTheLastStep(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, deadline(60), knobs("", "1", ""), func(s *v1beta1.CloneSetSpec) { s.MinReadySeconds = 50 }))
	w.wait(50 * time.Second)
	w.settle()
	require.Equal(t, "CloneSetAvailable", w.progressOf().Reason)
	w.edit(image("app:2"))
	for range 2 {
		w.settle()
		assert.Equal(t, "CloneSetUpdated", w.progressOf().Reason)
		w.wait(50 * time.Second)
	}
	w.settle()
	assert.Equal(t, "CloneSetAvailable", w.progressOf().Reason, "100 seconds in all, and never 60 without a step")
}

func TestProgressingStopsAtThePartition(t *testing.T) {
	w := rolled(t, "", newSet(3, deadline(60), knobs("2", "1", "")))
	w.edit(image("app:2"))
	w.settle()
	c := w.progressOf()
	assert.Equal(t, "ProgressPartitionAvailable", c.Reason)
	assert.Equal(t, "CloneSet has been paused due to partition ready", c.Message)
	w.wait(time.Hour)
	w.settle()
	assert.Equal(t, corev1.ConditionTrue, w.progressOf().Status)
}

// Under OnDelete, a new template counts as progressing until every Pod is updated, and no deadline applies.
func TestProgressingUnderOnDelete(t *testing.T) {
	w := rolled(t, "", newSet(2, deadline(60)))
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.Type = v1beta1.OnDeleteCloneSetStrategyType })
	w.settle()
	assert.Equal(t, "CloneSetUpdated", w.progressOf().Reason)
	w.wait(time.Hour)
	w.settle()
	assert.Equal(t, "CloneSetUpdated", w.progressOf().Reason)
	for _, name := range w.names() {
		assert.Equal(t, "CloneSetUpdated", w.progressOf().Reason)
		w.lose(name)
		w.settle()
	}
	assert.Equal(t, "CloneSetAvailable", w.progressOf().Reason)
}

// A rollout that exceeded its deadline keeps that condition even if it makes progress, until it is complete.
// Case cloneset 39.
func TestExceededDeadlineOutlivesProgress(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible, deadline(60), knobs("", "1", "")))
	w.node.Broken = func(image string) bool { return image == "app:2" }
	w.edit(image("app:2"))
	w.settle()
	w.wait(61 * time.Second)
	w.step()
	exceeded := w.progressOf()
	require.Equal(t, "ProgressDeadlineExceeded", exceeded.Reason)
	w.node.Broken = nil
	reasons := map[string]bool{}
	for range 20 {
		w.kubelet()
		w.step()
		reasons[w.progressOf().Reason] = true
	}
	assert.Equal(t, map[string]bool{"ProgressDeadlineExceeded": true, "CloneSetAvailable": true}, reasons)
	assert.Equal(t, int32(3), w.set().Status.UpdatedAvailableReplicas)

	w.node.Broken = func(image string) bool { return image == "app:3" }
	w.edit(image("app:3"))
	w.settle()
	w.wait(61 * time.Second)
	w.step()
	require.Equal(t, "ProgressDeadlineExceeded", w.progressOf().Reason)
	w.edit(func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	w.step()
	assert.Equal(t, "CloneSetPaused", w.progressOf().Reason, "a pause ends it as well")
}

// Case cloneset 39.
func TestDeadlineRunsWhileHookHoldsTheOnlyPodOfPartition(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, deadline(120), knobs("99%", "1", ""), func(s *v1beta1.CloneSetSpec) {
		s.MinReadySeconds = 10
		s.Lifecycle = &pub.Lifecycle{InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}}}
		s.Template.Labels["hook"] = "on"
	}))
	w.wait(time.Minute)
	w.settle()
	w.edit(image("app:2"))
	w.settle()
	set := w.set()
	assert.Equal(t, set.Generation, set.Status.ObservedGeneration)
	var prepared []string
	for _, pod := range w.Pods() {
		if pod.Labels["lifecycle.apps.kruise.io/state"] == "PreparingUpdate" {
			prepared = append(prepared, pod.Name)
		}
	}
	require.Len(t, prepared, 1)

	w.wait(120 * time.Second)
	w.step()
	assert.Equal(t, "CloneSetUpdated", w.progressOf().Reason)
	w.wait(time.Second)
	w.step()
	assert.Equal(t, "ProgressDeadlineExceeded", w.progressOf().Reason)

	w.change(prepared[0], func(p *corev1.Pod) { delete(p.Labels, "hook") })
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 1, "app:2": 1}, w.images())
	w.wait(9 * time.Second)
	w.step()
	assert.Equal(t, "ProgressDeadlineExceeded", w.progressOf().Reason, "the updated Pod is not available yet")
	w.change(prepared[0], func(p *corev1.Pod) { p.Labels["hook"] = "on" })
	w.wait(2 * time.Second)
	w.settle()
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
	assert.NotEqual(t, "ProgressDeadlineExceeded", w.progressOf().Reason, "its partition is reached")
}
