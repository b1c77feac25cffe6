package cloneset

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// Case inplace-update 1.
func TestImageIsUpdatedInPlace(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlaceIfPossible, knobs("", "1", "")))
	before := w.Pods()
	w.edit(image("app:2"))
	writes := w.settle()
	assert.Equal(t, map[string]int{"app:2": 3}, w.images())
	for i, pod := range w.Pods() {
		assert.Equal(t, before[i].UID, pod.UID)
		assert.Equal(t, w.set().Status.UpdateRevision, pod.Labels["controller-revision-hash"])
		assert.Contains(t, pod.Annotations["apps.kruise.io/inplace-update-state"], `"imageID":"id:app:1"`)
		assert.Equal(t, int32(1), pod.Status.ContainerStatuses[0].RestartCount)
		made := map[string]int{}
		for _, write := range writes {
			if strings.HasSuffix(write, pod.Name) {
				made[strings.TrimSuffix(write, " "+pod.Name)]++
			}
		}
		assert.Equal(t, map[string]int{"patch pods/status": 2, "patch pods": 1}, made, "out of service, the change, back into service")
	}
	assert.GreaterOrEqual(t, w.least, 2)
	assert.Equal(t, 3, w.most)
	assert.Contains(t, strings.Join(w.Events(), "\n"),
		"Normal SuccessfulUpdatePodInPlace successfully update pod "+before[0].Name+" in-place(revision web-")
	assert.Equal(t, w.set().Status.UpdateRevision, w.set().Status.CurrentRevision)
}

// Case inplace-update 2.
func TestOtherChangesRecreate(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "1", "")))
	before := w.names()
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) {
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	})
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 2}, w.images())
	for _, name := range before {
		assert.NotContains(t, w.names(), name)
	}
	assert.Contains(t, strings.Join(w.Events(), "\n"),
		"Normal SuccessfulUpdatePodReCreate successfully patch pod "+before[0]+" specified-delete for update(revision web-")
}

// Case inplace-update 3.
func TestMetadataAloneIsOneWrite(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	name := w.names()[0]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Template.Labels["new"] = "1" })
	var toPod []string
	for _, write := range w.settle() {
		if strings.HasSuffix(write, name) {
			toPod = append(toPod, write)
		}
	}
	assert.Equal(t, []string{"patch pods " + name}, toPod)
	pod := w.Pods()[0]
	assert.Equal(t, "1", pod.Labels["new"])
	assert.Equal(t, "Normal", pod.Labels["lifecycle.apps.kruise.io/state"])
	assert.Equal(t, 1, w.least, "it was in service all the time")
}

// Case inplace-update 21.
func TestLostRevisionRecreatesPods(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	name := w.names()[0]
	w.change(name, func(p *corev1.Pod) { p.Labels["controller-revision-hash"] = "web-gone" })
	w.edit(image("app:2"))
	w.settle()
	assert.NotContains(t, w.names(), name)
}

func TestInPlaceOnlyReportsWhatItCannotDo(t *testing.T) {
	w := rolled(t, "", newSet(1, policy(pub.InPlaceOnlyPodUpdatePolicy)))
	name := w.names()[0]
	w.edit(func(s *v1beta1.CloneSetSpec) { s.Template.Spec.HostNetwork = true })
	w.Observe()
	_, err := w.reconcile("web")
	require.ErrorContains(t, err, "cannot be updated in place")
	assert.Equal(t, v1beta1.CloneSetConditionFailedUpdate, w.set().Status.Conditions[0].Type)
	assert.Equal(t, []string{name}, w.names())
}

// Cases lifecycle 5, 6.
func TestPreDeleteHookHoldsADeletion(t *testing.T) {
	hook := func(s *v1beta1.CloneSetSpec) {
		s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}}}
		s.Template.Finalizers = []string{"a/b"}
	}
	w := rolled(t, "", newSet(3, hook))
	scale := func(n int32) func(*v1beta1.CloneSetSpec) {
		return func(s *v1beta1.CloneSetSpec) { s.Replicas = new(n) }
	}
	states := func() (held []string) {
		for _, pod := range w.Pods() {
			if pod.Labels["lifecycle.apps.kruise.io/state"] == "PreparingDelete" {
				held = append(held, pod.Name)
			}
		}
		return held
	}
	w.edit(scale(2))
	w.settle()
	require.Len(t, states(), 1)
	assert.Len(t, w.Pods(), 3, "it is held, not deleted")

	w.edit(scale(3))
	w.settle()
	assert.Empty(t, states())
	assert.Len(t, w.Pods(), 3)
	assert.Equal(t, int32(3), w.set().Status.AvailableReplicas)

	w.edit(scale(2))
	w.settle()
	held := states()
	require.Len(t, held, 1)
	w.change(held[0], func(p *corev1.Pod) { p.Finalizers = nil })
	w.settle()
	assert.NotContains(t, w.names(), held[0])
	assert.Len(t, w.names(), 2)
}

// A held Pod is replaced at once if it does not count as a replica. kubectl label writes the label through v1beta1, which does not set
// the field.
func TestHeldPodsAreExcludedByFieldOrLabel(t *testing.T) {
	tests := map[string]struct {
		label string
		field bool
		pods  int
	}{
		"neither":       {"", false, 2},
		"field":         {"", true, 3},
		"label":         {"true", false, 3},
		"another value": {"yes", false, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			set := newSet(2, func(s *v1beta1.CloneSetSpec) {
				s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"a/b"}}}
				s.Template.Finalizers = []string{"a/b"}
				s.ScaleStrategy.ExcludePreparingDelete = tc.field
			})
			set.Labels = map[string]string{pub.CloneSetScalingExcludePreparingDeleteKey: tc.label}
			w := rolled(t, "", set)
			w.change(w.names()[0], func(p *corev1.Pod) { p.Labels[pub.SpecifiedDeleteKey] = "true" })
			w.settle()
			assert.Len(t, w.Pods(), tc.pods)
		})
	}
}

// Cases lifecycle 11, 12, 13.
func TestUpdateHookHoldsAnUpdate(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) {
		s.Lifecycle = &pub.Lifecycle{InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}}}
		s.Template.Labels["hook"] = "on"
	}))
	name := w.names()[0]
	state := func() string { return w.Pods()[0].Labels["lifecycle.apps.kruise.io/state"] }
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, "PreparingUpdate", state())
	assert.Equal(t, map[string]int{"app:1": 1}, w.images())

	w.change(name, func(p *corev1.Pod) { delete(p.Labels, "hook") })
	w.settle()
	assert.Equal(t, "Updated", state())
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())

	w.edit(image("app:3"))
	w.settle()
	assert.Equal(t, "PreparingUpdate", state(), "it waits again")
	assert.Equal(t, "on", w.Pods()[0].Labels["hook"], "with the marker put back")

	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, "Normal", state(), "rolled back while it waits")
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())
}

// Cases inplace-update 7, 8.
func TestGraceHoldsAnUpdate(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.edit(image("app:2"))
	var toPod []string
	for _, write := range w.settle() {
		if strings.Contains(write, " pods") {
			toPod = append(toPod, write)
		}
	}
	pod := w.Pods()[0]
	assert.Equal(t, []string{"patch pods/status " + pod.Name}, toPod, "out of service and to be changed: one write")
	assert.Equal(t, "app:1", pod.Spec.Containers[0].Image)
	assert.Equal(t, corev1.ConditionFalse, controllertest.ConditionOf(pod, corev1.PodReady).Status)
	assert.Equal(t, w.set().Status.UpdateRevision, pod.Labels["controller-revision-hash"])
	w.Clock.SetTime(controllertest.Now.Add(20 * time.Second))
	assert.Equal(t, 10*time.Second, w.step())

	w.edit(image("app:3"))
	w.settle()
	assert.Equal(t, "app:1", w.Pods()[0].Spec.Containers[0].Image)
	assert.Equal(t, w.set().Status.UpdateRevision, w.Pods()[0].Labels["controller-revision-hash"], "the third image takes the place of the second")

	w.Clock.SetTime(controllertest.Now.Add(30 * time.Second))
	w.settle()
	assert.Equal(t, "app:3", w.Pods()[0].Spec.Containers[0].Image, "the grace period went on")
	assert.NotContains(t, w.Pods()[0].Annotations, "apps.kruise.io/inplace-update-grace")
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
}

// A user who rolls back knows that the new revision is bad. Nothing of it has begun during the grace period.
// Case inplace-update 8.
func TestRollbackInTheGracePeriodRestartsNothing(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	before := w.Pods()
	w.edit(image("app:2"), func(s *v1beta1.CloneSetSpec) { s.Template.Annotations = map[string]string{"build": "2"} })
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(10 * time.Second))
	w.edit(image("app:1"), func(s *v1beta1.CloneSetSpec) { s.Template.Annotations = nil })
	w.settle()
	for i, pod := range w.Pods() {
		assert.Equal(t, before[i].Spec, pod.Spec)
		assert.Equal(t, before[i].Labels, pod.Labels)
		assert.NotContains(t, pod.Annotations, "build")
		assert.NotContains(t, pod.Annotations, "apps.kruise.io/inplace-update-grace")
		assert.Equal(t, corev1.ConditionTrue, controllertest.ConditionOf(pod, corev1.PodReady).Status, "in service at once")
		assert.Equal(t, before[i].Status.ContainerStatuses, pod.Status.ContainerStatuses)
	}
	assert.Equal(t, int32(2), w.set().Status.UpdatedAvailableReplicas)
	w.Clock.SetTime(controllertest.Now.Add(time.Hour))
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 2}, w.images())
}

// The requests before a write can take long. The grace period is for the endpoints, which change with the write.
func TestGracePeriodBeginsWithItsWrite(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible, func(s *v1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 30}
	}))
	w.Kube.PrependReactor("create", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) {
		w.Clock.SetTime(controllertest.Now.Add(20 * time.Second))
		return false, nil, nil
	})
	w.edit(image("app:2"))
	w.settle()
	require.Equal(t, controllertest.Now.Add(20*time.Second), w.Clock.Now())
	w.Clock.SetTime(controllertest.Now.Add(49 * time.Second))
	w.settle()
	assert.Equal(t, map[string]int{"app:1": 1}, w.images())
	w.Clock.SetTime(controllertest.Now.Add(50 * time.Second))
	w.settle()
	assert.Equal(t, map[string]int{"app:2": 1}, w.images())
}

func TestPodStaysOutOfServiceUntilTheNodeIsDone(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	w.edit(image("app:2"))
	w.step()
	w.step()
	pod := w.Pods()[0]
	assert.Equal(t, corev1.ConditionFalse, controllertest.ConditionOf(pod, pub.InPlaceUpdateReadyConditionType).Status)
	assert.Equal(t, "Updating", pod.Labels["lifecycle.apps.kruise.io/state"])
	w.settle()
	assert.Equal(t, corev1.ConditionTrue, controllertest.ConditionOf(w.Pods()[0], pub.InPlaceUpdateReadyConditionType).Status)
}

func TestUnreadableRecordDoesNotBlockOtherPods(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlaceIfPossible, knobs("", "100%", "")))
	w.change(w.names()[0], func(p *corev1.Pod) {
		p.Labels["lifecycle.apps.kruise.io/state"] = "Updating"
		p.Annotations["apps.kruise.io/inplace-update-state"] = "{"
	})
	w.edit(image("app:2"))
	w.Observe()
	_, err := w.reconcile("web")
	require.ErrorContains(t, err, "decode annotation")
	assert.Equal(t, map[string]int{"app:2": 2}, w.images(), "the new update repairs the record too")
	w.kubelet()
	w.settle()
	assert.Empty(t, w.set().Status.Conditions)
}

// The time in which a node must stop the old instance starts when the node is known to have observed the change, not when the
// change is written.
func TestSettlingBeginsWhenTheNodeHasSeenTheChange(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlaceIfPossible))
	name := w.names()[0]
	released := func() bool {
		return controllertest.ConditionOf(w.Pods()[0], pub.InPlaceUpdateReadyConditionType).Status == corev1.ConditionTrue
	}
	w.edit(image("app:2"))
	w.step()
	w.change(name, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].ContainerID = "test://restarted"
		p.Generation, p.Status.ObservedGeneration = 2, 1
	})
	w.step()
	w.Clock.SetTime(controllertest.Now.Add(time.Hour))
	w.change(name, func(p *corev1.Pod) { p.Status.ObservedGeneration = 2 })
	assert.Equal(t, 40*time.Second, w.step())
	assert.False(t, released(), "the node may be about to replace it")
	w.Clock.SetTime(w.Clock.Now().Add(40 * time.Second))
	w.step()
	assert.True(t, released())
}

// A Pod whose update in place is not finished keeps its claims when the template changes again, although a surge Pod exists.
// Case lifecycle 13.
func TestTemplateChangesDuringAnUpdateInPlaceWithSurge(t *testing.T) {
	w := rolled(t, "", newSet(3, policy(pub.InPlaceIfPossiblePodUpdatePolicy), knobs("", "1", "1"), dataClaims("1")))
	before := w.names()
	w.edit(image("app:2"))
	for range 3 { // Without the kubelet, so the update of a Pod has begun and is not finished.
		w.step()
	}
	require.Len(t, w.Pods(), 4)
	w.edit(image("app:3"))
	for range 4 {
		w.step()
	}
	assert.Subset(t, w.names(), before)
	w.settle()
	require.Len(t, w.Pods(), 3)
	for _, pod := range w.Pods() {
		assert.Equal(t, "app:3", pod.Status.ContainerStatuses[0].Image)
	}
}

// A Pod that somebody picked does not wait for the update in place of a stray Pod, if nothing is updated.
func TestPickedPodDoesNotWaitForAnUpdateThatIsStopped(t *testing.T) {
	for name, freeze := range map[string]func(*v1beta1.CloneSetSpec){
		"by the partition": knobs("3", "0", "1"),
		"by a pause":       func(s *v1beta1.CloneSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(3, inPlaceIfPossible, knobs("", "0", "1")))
			w.node.Broken = func(image string) bool { return strings.HasPrefix(image, "bad:") }
			serving := w.names()
			w.edit(image("bad:1"))
			w.settle()
			stray := slices.DeleteFunc(w.names(), func(name string) bool { return slices.Contains(serving, name) })
			require.Len(t, stray, 1)
			// Its update in place never ends.
			w.change(stray[0], func(pod *corev1.Pod) {
				pod.Labels[pub.LifecycleStateKey], pod.Annotations[pub.InPlaceUpdateStateKey] = "Updating", "x"
			})
			w.edit(image("app:2"), freeze)
			w.change(serving[0], func(pod *corev1.Pod) { pod.Labels[pub.SpecifiedDeleteKey] = "true" })
			for range 20 {
				w.Observe()
				_, _ = w.Pass("ns", "web")
				w.kubelet()
			}
			assert.NotContains(t, w.names(), serving[0])
			assert.EqualValues(t, 3, w.set().Status.AvailableReplicas)
		})
	}
}
