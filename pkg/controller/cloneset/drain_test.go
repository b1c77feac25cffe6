package cloneset

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/engine"
)

const (
	preDeleteKey = `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`
	preUpdateKey = `[{"userAgent":"Lifecycle","key":"preUpdateHook"}]`
)

// drainingUpdate makes a hook hold and drain Pods before an in-place update, by a label that the template sets.
func drainingUpdate(s *v1beta1.CloneSetSpec) {
	s.Lifecycle = &pub.Lifecycle{InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}, MarkPodNotReady: true}}
	s.Template.Labels["hook"] = "on"
}

func drainingDelete(s *v1beta1.CloneSetSpec) {
	s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}, MarkPodNotReady: true}}
	s.Template.Finalizers = []string{"a/b"}
}

func (w *world) podReady() corev1.PodCondition {
	w.t.Helper()
	c := controllertest.ConditionOf(w.Pods()[0], pub.KruisePodReadyConditionType)
	require.NotNil(w.t, c)
	return *c
}

// drained returns the names of the Pods that a hook keeps out of service.
func (w *world) drained() (names []string) {
	for _, pod := range w.Pods() {
		if c := controllertest.ConditionOf(pod, pub.KruisePodReadyConditionType); c != nil && c.Status == corev1.ConditionFalse {
			names = append(names, pod.Name)
		}
	}
	return names
}

// Case lifecycle 15.
func TestNewPodsHaveGateAndCondition(t *testing.T) {
	w := rolled(t, "", newSet(1))
	assert.Contains(t, w.Pods()[0].Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "KruisePodReady"})
	assert.Equal(t, corev1.ConditionTrue, w.podReady().Status)
	assert.Equal(t, int32(1), w.set().Status.ReadyReplicas)
}

// Cases lifecycle 7, 8.
func TestDrainBeforeDeletion(t *testing.T) {
	w := rolled(t, "", newSet(2, drainingDelete))
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](1) })
	w.step()
	held := w.drained()
	require.Len(t, held, 1)
	for _, pod := range w.Pods() {
		if pod.Name == held[0] {
			assert.Equal(t, preDeleteKey, controllertest.ConditionOf(pod, pub.KruisePodReadyConditionType).Message)
			assert.Equal(t, corev1.ConditionFalse, controllertest.ConditionOf(pod, corev1.PodReady).Status, "in the same write")
			assert.Equal(t, "PreparingDelete", pod.Labels["lifecycle.apps.kruise.io/state"])
		}
	}
	w.kubelet()
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](2) })
	w.settle()
	assert.Equal(t, held, w.drained(), "a drained Pod is not taken back")

	w.change(held[0], func(p *corev1.Pod) { p.Finalizers = nil })
	w.settle()
	assert.NotContains(t, w.names(), held[0])
	assert.Len(t, w.names(), 2, "another one is made when it is needed")
}

func TestDrainThatIsSwitchedOffIsUndoneWhenThePodIsTakenBack(t *testing.T) {
	w := rolled(t, "", newSet(2, drainingDelete))
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = ptr.To[int32](1) })
	w.settle()
	require.Len(t, w.drained(), 1)
	w.edit(func(s *v1beta1.CloneSetSpec) {
		s.Lifecycle.PreDelete.MarkPodNotReady, s.Replicas = false, ptr.To[int32](2)
	})
	w.settle()
	assert.Empty(t, w.drained())
	assert.Len(t, w.names(), 2)
	assert.Equal(t, int32(2), w.set().Status.AvailableReplicas)
}

// Cases lifecycle 12, 13.
func TestDrainBeforeUpdate(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, drainingUpdate))
	name := w.names()[0]
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, preUpdateKey, w.podReady().Message)
	assert.Equal(t, corev1.ConditionFalse, controllertest.ConditionOf(w.Pods()[0], corev1.PodReady).Status)

	w.change(name, func(p *corev1.Pod) { delete(p.Labels, "hook") })
	w.step()
	assert.Equal(t, preUpdateKey, w.podReady().Message, "it stays drained while it is updated")
	w.kubelet()
	w.settle()
	assert.Equal(t, "Updated", w.Pods()[0].Labels["lifecycle.apps.kruise.io/state"])
	assert.Equal(t, corev1.ConditionTrue, w.podReady().Status)
	assert.Equal(t, "[]", w.podReady().Message)
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())

	w.edit(image("app:3"))
	w.settle()
	assert.Equal(t, preUpdateKey, w.podReady().Message, "it is drained again")
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, corev1.ConditionTrue, w.podReady().Status, "rolled back while it waits")
	assert.Equal(t, int32(1), w.set().Status.AvailableReplicas)
}

// Scaling counts a held Pod as updated, so the other Pods are created at the current revision, and the Pod stays held meanwhile.
func TestHeldPodThatCountsAsUpdatedStaysHeldWhileOthersAreCreated(t *testing.T) {
	w := rolled(t, "PreparingUpdateAsUpdate=true", newSet(2, inPlaceIfPossible, drainingUpdate, knobs("99%", "", "")))
	w.edit(image("app:2"))
	w.settle()
	held := w.drained()
	require.Len(t, held, 1)
	for _, name := range w.names() {
		if name != held[0] {
			w.lose(name)
		}
	}
	returned := false
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		returned = returned || patch.GetName() == held[0] && strings.Contains(string(patch.GetPatch()), "Normal")
		return false, nil, nil
	})
	w.settle()
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Replicas = new(int32(3)) })
	w.settle()
	assert.Equal(t, held, w.drained())
	assert.False(t, returned, "it was in service in between")
	assert.Equal(t, map[string]int{"app:1": 3}, w.images())
	assert.Zero(t, w.set().Status.UpdatedReplicas)
}

// Case lifecycle 12: a pause gives up an update that a hook still holds, and the rollout takes it up again.
func TestPauseReturnsAPodThatWaitsForItsUpdate(t *testing.T) {
	pause := func(paused bool) func(*v1beta1.CloneSetSpec) {
		return func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = paused }
	}
	state := func(w *world) string { return w.Pods()[0].Labels["lifecycle.apps.kruise.io/state"] }
	w := rolled(t, "", newSet(1, inPlaceIfPossible, drainingUpdate))
	w.edit(image("app:2"))
	w.settle()
	require.Equal(t, "PreparingUpdate", state(w))

	w.edit(pause(true))
	w.step()
	assert.Equal(t, "Normal", state(w), "in the next pass")
	assert.Equal(t, corev1.ConditionTrue, w.podReady().Status)
	assert.Equal(t, "on", w.Pods()[0].Labels["hook"])
	w.settle()
	assert.Equal(t, int32(1), w.set().Status.AvailableReplicas)
	assert.Equal(t, map[string]int{"app:1": 1}, w.images())

	w.edit(pause(false))
	w.settle()
	assert.Equal(t, "PreparingUpdate", state(w))
	assert.Equal(t, preUpdateKey, w.podReady().Message)

	w.edit(pause(true), knobs("x", "", ""))
	w.Observe()
	_, err := w.reconcile("web")
	require.ErrorContains(t, err, "resolve partition")
	assert.Equal(t, "Normal", state(w), "whatever else cannot be decided")

	w.edit(pause(false), knobs("", "", ""))
	w.settle()
	w.change(w.names()[0], func(p *corev1.Pod) { delete(p.Labels, "hook") })
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())
}

// Case lifecycle 17.
func TestMarkersThereAtCompletionEndTheDrain(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, drainingUpdate))
	name := w.names()[0]
	w.edit(image("app:2"))
	w.settle()
	w.change(name, func(p *corev1.Pod) { delete(p.Labels, "hook") })
	w.step()
	w.change(name, func(p *corev1.Pod) { p.Labels["hook"] = "on" })
	w.kubelet()
	w.settle()
	assert.Equal(t, "Normal", w.Pods()[0].Labels["lifecycle.apps.kruise.io/state"])
	assert.Equal(t, corev1.ConditionTrue, w.podReady().Status)
	assert.Equal(t, int32(1), w.set().Status.AvailableReplicas)
}

func TestDrainedPodWhoseUpdateTouchesNoContainerIsPutBack(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, drainingUpdate))
	name := w.names()[0]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Template.Labels["new"] = "1" })
	w.settle()
	require.Equal(t, preUpdateKey, w.podReady().Message)
	w.change(name, func(p *corev1.Pod) { delete(p.Labels, "hook") })
	w.settle()
	assert.Equal(t, corev1.ConditionTrue, w.podReady().Status)
	w.change(name, func(p *corev1.Pod) { p.Labels["hook"] = "on" })
	w.settle()
	assert.Equal(t, int32(1), w.set().Status.AvailableReplicas)
}

// Two parties write the same condition. A write that was decided before the other party added its key must not remove that key.
func TestKeyOfAnotherHolderIsKept(t *testing.T) {
	const other = `[{"userAgent":"ContainerRecreateRequest","key":"ns/r"}]`
	w := rolled(t, "", newSet(1, inPlaceIfPossible, drainingUpdate))
	name := w.names()[0]
	w.edit(image("app:2"))
	w.settle()
	v := &engine.View{Target: &engine.Target{Lifecycle: w.set().Spec.Lifecycle}, Now: w.Clock.Now()}
	drained := v.Move(w.Pods()[0], pub.LifecycleStateNormal)
	assert.True(t, drained.Exact, "it is refused when the Pod changed meanwhile")
	w.change(name, func(p *corev1.Pod) {
		delete(p.Labels, "hook")
		controllertest.ConditionOf(p, pub.KruisePodReadyConditionType).Message = strings.TrimSuffix(other, "]") + "," + strings.TrimPrefix(preUpdateKey, "[")
	})
	w.settle()
	assert.Equal(t, other, w.podReady().Message)
	assert.Equal(t, corev1.ConditionFalse, w.podReady().Status)
}
