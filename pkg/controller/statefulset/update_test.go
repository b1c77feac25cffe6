package statefulset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// updated returns the names of the Pods with the image.
func (w *world) updated(image string) (names []string) {
	for _, pod := range w.Pods() {
		if pod.Spec.Containers[0].Image == image {
			names = append(names, pod.Name)
		}
	}
	return names
}

func TestPodsAreUpdatedFromTheHighestOrdinalDown(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.edit(image("app:2"))
	var order [][]string
	for range 40 {
		w.step()
		w.kubelet()
		if now := w.updated("app:2"); len(now) > 0 && (len(order) == 0 || len(order[len(order)-1]) != len(now)) {
			order = append(order, now)
		}
	}
	assert.Equal(t, [][]string{{"web-2"}, {"web-1", "web-2"}, {"web-0", "web-1", "web-2"}}, order)
	assert.GreaterOrEqual(t, w.least, 2)
	status := w.set().Status
	assert.Equal(t, status.UpdateRevision, status.CurrentRevision)
	assert.Equal(t, []int32{3, 3, 3}, []int32{status.CurrentReplicas, status.UpdatedReplicas, status.UpdatedAvailableReplicas})
}

// Case statefulset 4.
func TestMaxUnavailableUpdatesSeveralPodsAtOnce(t *testing.T) {
	w := rolled(t, "", newSet(5, parallel, maxUnavailable("3")))
	w.edit(image("app:2"))
	w.step()
	assert.Equal(t, []string{"web-0", "web-1"}, w.names(), "4, 3 and 2 together")
	for range controllertest.StopSteps {
		w.step()
	}
	assert.Equal(t, []string{"web-2", "web-3", "web-4"}, w.updated("app:2"))
	w.step()
	assert.Equal(t, []string{"web-0", "web-1"}, w.updated("app:1"), "the next wait until one is available")
	w.settle()
	assert.Len(t, w.updated("app:2"), 5)
	assert.GreaterOrEqual(t, w.least, 2)
}

// Case statefulset 5.
func TestPartitionHoldsBackLowOrdinals(t *testing.T) {
	for name, tc := range map[string]struct {
		edits []edit
		want  []string
	}{
		"4 of 5":              {[]edit{partition(4), maxUnavailable("3")}, []string{"web-4"}},
		"3 of 5":              {[]edit{partition(3)}, []string{"web-3", "web-4"}},
		"all of 5":            {[]edit{partition(5)}, nil},
		"more than there are": {[]edit{partition(7)}, nil},
		"counts filled slots": {[]edit{reserve("0"), replicas(3), partition(2)}, []string{"web-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := newSet(5, append(tc.edits, parallel)...)
			w := rolled(t, "", set)
			w.edit(image("app:2"))
			w.settle()
			assert.Equal(t, tc.want, w.updated("app:2"))
			status := w.set().Status
			assert.NotEqual(t, status.UpdateRevision, status.CurrentRevision)
			assert.Equal(t, int32(len(tc.want)), status.UpdatedReplicas)
			assert.Equal(t, status.Replicas-status.UpdatedReplicas, status.CurrentReplicas)
		})
	}
}

// Case statefulset 30.
func TestLostPodsBelowThePartitionComeBackAtTheCurrentRevision(t *testing.T) {
	w := rolled(t, "", newSet(3, partition(3)))
	current := w.set().Status.CurrentRevision
	w.edit(image("app:2"))
	w.settle()
	for _, name := range w.names() {
		w.lose(name)
	}
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.updated("app:1"))
	assert.Equal(t, current, w.set().Status.CurrentRevision)

	w.edit(partition(1))
	w.settle()
	w.lose("web-2")
	w.lose("web-0")
	w.settle()
	assert.Equal(t, []string{"web-1", "web-2"}, w.updated("app:2"))
}

// Case statefulset 6.
func TestMinReadySecondsPacesTheUpdate(t *testing.T) {
	w := rolled(t, "", newSet(2, func(s *v1beta1.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate.MinReadySeconds = ptr.To[int32](10)
	}))
	w.pass(10 * time.Second)
	w.settle()
	w.pass(10 * time.Second)
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, []string{"web-1"}, w.updated("app:2"))
	w.pass(9 * time.Second)
	assert.Equal(t, time.Second, w.step())
	assert.Equal(t, []string{"web-1"}, w.updated("app:2"))
	w.pass(time.Second)
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1"}, w.updated("app:2"))
}

// Case statefulset 9.
func TestImagesChangeInPlace(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlace, volume("data", "1Gi")))
	before, claims := w.uids(), w.claims()
	w.edit(image("app:2"))
	w.step()
	held := controllertest.ConditionOf(w.pod("web-1"), pub.InPlaceUpdateReadyConditionType)
	require.NotNil(t, held)
	assert.Equal(t, corev1.ConditionFalse, held.Status, "web-1 leaves service")
	assert.Equal(t, []string{"web-1"}, w.updated("app:2"), "web-0 waits")
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1"}, w.updated("app:2"))
	assert.Equal(t, before, w.uids())
	assert.Equal(t, claims, w.claims())
	assert.GreaterOrEqual(t, w.least, 1)
	held = controllertest.ConditionOf(w.pod("web-1"), pub.InPlaceUpdateReadyConditionType)
	assert.Equal(t, corev1.ConditionTrue, held.Status)
	events := w.Events()
	assert.Contains(t, events, "Normal SuccessfulUpdatePodInPlace successfully update pod web-1 in-place(revision "+
		w.set().Status.UpdateRevision+")")
	assert.NotContains(t, w.pod("web-1").Labels, pub.PodTemplateHashKey)
}

func TestOtherChangesRecreateThePod(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlace))
	before := w.uids()
	w.edit(func(s *v1beta1.StatefulSetSpec) {
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
	})
	w.settle()
	assert.NotEqual(t, before, w.uids())
	assert.Contains(t, w.Events(), "Normal SuccessfulDelete delete Pod web-0 in StatefulSet web successful")
}

// A Pod that an older StatefulSet created has no lifecycle state. An update in place adds none.
// The label of a picked Pod waits while updates are paused. An update in place that has begun completes all the same.
func TestPickedPodCompletesItsUpdateDuringAPause(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlace))
	before := w.pod("web-0").UID
	w.edit(image("web:2"))
	for w.pod("web-0").Labels[pub.LifecycleStateKey] != "Updating" {
		w.step()
	}
	w.edit(func(s *v1beta1.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	w.change("web-0", func(pod *corev1.Pod) { pod.Labels[pub.SpecifiedDeleteKey] = "true" })
	w.settle()
	assert.Equal(t, before, w.pod("web-0").UID)
	assert.Equal(t, "Normal", w.pod("web-0").Labels[pub.LifecycleStateKey])
	assert.EqualValues(t, 1, w.set().Status.AvailableReplicas)
}

func TestPodWithoutAStateIsUpdatedInPlace(t *testing.T) {
	w := rolled(t, "", newSet(1, inPlace))
	w.change("web-0", func(pod *corev1.Pod) { delete(pod.Labels, pub.LifecycleStateKey) })
	before := w.uids()
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, before, w.uids())
	assert.NotContains(t, w.pod("web-0").Labels, pub.LifecycleStateKey)
	assert.Equal(t, int32(1), w.set().Status.UpdatedAvailableReplicas)
}

// Case statefulset 46: the Pod is out of service for the grace period before its container changes.
func TestGracePeriodPrecedesTheChange(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlace, func(s *v1beta1.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 10}
	}))
	w.edit(image("app:2"))
	w.settle()
	assert.Empty(t, w.updated("app:2"))
	assert.Equal(t, 1, w.ready())
	w.pass(11 * time.Second)
	w.settle()
	assert.Equal(t, []string{"web-1"}, w.updated("app:2"), "the highest ordinal first")
	w.pass(11 * time.Second)
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1"}, w.updated("app:2"))
	assert.Equal(t, 2, w.ready())
}

// Nothing of an update has begun in its grace period, so a rollback restarts nothing.
func TestRollbackInTheGracePeriodRestartsNothing(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlace, func(s *v1beta1.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &pub.InPlaceUpdateStrategy{GracePeriodSeconds: 10}
	}))
	before := w.pod("web-1").Status.ContainerStatuses
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, 1, w.ready())
	w.edit(image("app:1"))
	w.settle()
	assert.Equal(t, 2, w.ready(), "in service at once")
	w.pass(time.Hour)
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1"}, w.updated("app:1"))
	assert.Equal(t, before, w.pod("web-1").Status.ContainerStatuses)
	assert.Equal(t, int32(2), w.set().Status.UpdatedReplicas)
}

// Case statefulset 47.
func TestResourcesChangeInPlaceWithTheGate(t *testing.T) {
	cpu := func(text string) edit {
		return func(s *v1beta1.StatefulSetSpec) { s.Template.Spec.Containers[0].Resources.Requests = requests(text) }
	}
	for _, gate := range []string{"true", "false"} {
		w := rolled(t, "InPlaceWorkloadVerticalScaling="+gate, newSet(1, inPlace, cpu("1")))
		before := w.uids()
		w.edit(cpu("2"))
		w.settle()
		assert.Equal(t, gate == "true", before["web-0"] == w.pod("web-0").UID)
		assert.Equal(t, requests("2"), w.pod("web-0").Spec.Containers[0].Resources.Requests)
	}
}

// Case statefulset 25.
func TestPauseStopsUpdatesOnly(t *testing.T) {
	w := rolled(t, "", newSet(3, inPlace))
	w.edit(image("app:2"))
	w.step()
	w.edit(func(s *v1beta1.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = true })
	w.settle()
	assert.Equal(t, []string{"web-2"}, w.updated("app:2"))
	assert.Equal(t, 3, w.ready(), "the update that began is completed")
	w.edit(replicas(4))
	w.settle()
	assert.Equal(t, []string{"web-2", "web-3"}, w.updated("app:2"))
	w.edit(func(s *v1beta1.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = false })
	w.settle()
	assert.Len(t, w.updated("app:2"), 4)
}

// Case statefulset 26.
func TestRollbackLeavesUnchangedPodsAlone(t *testing.T) {
	w := rolled(t, "", newSet(3, partition(1)))
	first := w.set().Status.UpdateRevision
	w.edit(image("app:2"))
	w.settle()
	w.lose("web-1")
	w.settle()
	before := w.uids()
	w.edit(image("app:1"), partition(0))
	w.settle()
	assert.Equal(t, before["web-0"], w.pod("web-0").UID)
	assert.NotEqual(t, before["web-2"], w.pod("web-2").UID)
	assert.Len(t, w.updated("app:1"), 3)
	list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2, "no third revision")
	for _, revision := range list.Items {
		if revision.Name == first {
			assert.Equal(t, int64(3), revision.Revision)
		}
	}
	assert.Equal(t, first, w.set().Status.CurrentRevision)
}

// Case statefulset 16.
func TestOnDeleteUpdatesOnlyDeletedPods(t *testing.T) {
	w := rolled(t, "", newSet(2, useOnDelete))
	w.edit(image("app:2"))
	w.settle()
	assert.Empty(t, w.updated("app:2"))
	w.lose("web-0")
	w.settle()
	assert.Equal(t, []string{"web-0"}, w.updated("app:2"))
}

// Case statefulset 15.
func TestUnorderedUpdateFollowsThePriority(t *testing.T) {
	w := rolled(t, "", newSet(4, parallel, partition(2), func(s *v1beta1.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate.UnorderedUpdate = &v1beta1.UnorderedUpdateStrategy{PriorityStrategy: &pub.UpdatePriorityStrategy{
			WeightPriority: []pub.UpdatePriorityWeightTerm{{Weight: 10, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"first": "yes"}}}},
		}}
	}))
	w.change("web-1", func(pod *corev1.Pod) { pod.Labels["first"] = "yes" })
	w.edit(image("app:2"))
	w.step()
	assert.Equal(t, []string{"web-0", "web-2", "web-3"}, w.names(), "the Pod with the weight first")
	w.settle()
	assert.Equal(t, []string{"web-1", "web-3"}, w.updated("app:2"), "then by descending ordinal, as far as the partition allows")
	w.lose("web-2")
	w.lose("web-3")
	w.settle()
	assert.Len(t, w.updated("app:2"), 2)
}

// Case statefulset 29.
func TestPickedPodIsReplacedAtItsRevision(t *testing.T) {
	w := rolled(t, "", newSet(5, parallel, partition(5)))
	w.edit(image("app:2"))
	w.settle()
	before := w.uids()
	for _, name := range []string{"web-0", "web-1"} {
		w.change(name, func(pod *corev1.Pod) { pod.Labels[pub.SpecifiedDeleteKey] = "true" })
	}
	w.step()
	assert.Equal(t, []string{"web-0", "web-2", "web-3", "web-4"}, w.names(), "the highest ordinal first, as maxUnavailable allows")
	w.settle()
	assert.NotEqual(t, before["web-0"], w.pod("web-0").UID)
	assert.NotEqual(t, before["web-1"], w.pod("web-1").UID)
	assert.Equal(t, before["web-2"], w.pod("web-2").UID)
	assert.Len(t, w.updated("app:1"), 5)
	assert.GreaterOrEqual(t, w.least, 4)
}

// In order, Pods are deleted one after the other, whatever they are deleted for.
func TestPickedPodWaitsForTheScaleInInOrder(t *testing.T) {
	w := rolled(t, "", newSet(3))
	before := w.uids()
	w.edit(replicas(2))
	w.terminate("web-2")
	w.change("web-0", func(pod *corev1.Pod) { pod.Labels[pub.SpecifiedDeleteKey] = "true" })
	w.settle()
	assert.Equal(t, before, w.uids())
	w.lose("web-2")
	w.settle()
	assert.Equal(t, before["web-1"], w.uids()["web-1"])
	assert.NotEqual(t, before["web-0"], w.uids()["web-0"])
}

func TestPickedPodIsDeletedOnce(t *testing.T) {
	w := rolled(t, "", newSet(2, parallel))
	w.change("web-1", func(pod *corev1.Pod) { pod.Labels[pub.SpecifiedDeleteKey] = "true" })
	w.edit(image("app:2"))
	w.step()
	assert.Equal(t, []string{"Normal SuccessfulDelete delete Pod web-1 in StatefulSet web successful"}, w.Events())
}

// Case statefulset 40.
func TestUnavailablePodHoldsUpAnUpdateInOrder(t *testing.T) {
	w := rolled(t, "", newSet(3))
	first := w.set().Status.UpdateRevision
	w.pass(time.Minute)
	w.ill["web-1"] = true
	w.kubelet()
	w.edit(image("app:2"))
	w.rounds(3)
	assert.Empty(t, w.updated("app:2"), "the Pod was available, and can become so again")
	status := w.set().Status
	assert.Equal(t, first, status.CurrentRevision)
	assert.NotEqual(t, first, status.UpdateRevision)
	assert.Equal(t, int64(2), status.ObservedGeneration)

	w.edit(image("app:1"))
	w.step()
	assert.Equal(t, first, w.set().Status.UpdateRevision)
	w.edit(image("app:2"))
	w.ill = nil
	w.settle()
	assert.Len(t, w.updated("app:2"), 3)
}

// A broken Pod of an update is replaced by the next one. The order would wait for it without end.
// Case statefulset 40.
func TestBrokenUpdateIsRolledBack(t *testing.T) {
	for name, policy := range map[string][]edit{"ordered": nil, "parallel": {parallel}} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(3, policy...))
			w.node.Broken = brokenImage
			w.edit(image("broken:1"))
			w.settle()
			assert.Equal(t, []string{"web-2"}, w.updated("broken:1"))
			w.edit(image("app:1"))
			w.settle()
			assert.Len(t, w.updated("app:1"), 3)
			assert.Equal(t, 3, w.ready())
		})
	}
}

func TestInPlaceHookHoldsAPodInOrder(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlace, held, hooks(pub.Lifecycle{
		InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hold": "on"}},
	})))
	w.edit(image("app:2"))
	w.settle()
	assert.Empty(t, w.updated("app:2"))
	assert.Equal(t, "PreparingUpdate", w.pod("web-1").Labels[pub.LifecycleStateKey])
	w.change("web-1", func(pod *corev1.Pod) { delete(pod.Labels, "hold") })
	w.settle()
	assert.Equal(t, []string{"web-1"}, w.updated("app:2"))
	assert.Equal(t, "Updated", w.pod("web-1").Labels[pub.LifecycleStateKey])
	w.change("web-1", func(pod *corev1.Pod) { pod.Labels["hold"] = "on" })
	w.settle()
	assert.Equal(t, "Normal", w.pod("web-1").Labels[pub.LifecycleStateKey])

	assert.Equal(t, "PreparingUpdate", w.pod("web-0").Labels[pub.LifecycleStateKey])
	w.edit(partition(1))
	w.settle()
	assert.Equal(t, "Normal", w.pod("web-0").Labels[pub.LifecycleStateKey], "an update that is no longer wanted is given up")
}

// Case lifecycle 12: a pause gives up an update that a hook still holds, and the rollout takes it up again.
func TestPauseReturnsAPodThatWaitsForItsUpdate(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlace, held, hooks(pub.Lifecycle{
		InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hold": "on"}, MarkPodNotReady: true},
	})))
	state := func() string { return w.pod("web-1").Labels[pub.LifecycleStateKey] }
	pause := func(paused bool) edit {
		return func(s *v1beta1.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = paused }
	}
	w.edit(image("app:2"))
	w.settle()
	require.Equal(t, "PreparingUpdate", state())
	require.Equal(t, 1, w.ready())
	w.edit(pause(true))
	w.settle()
	assert.Equal(t, "Normal", state())
	assert.Equal(t, 2, w.ready())
	assert.Equal(t, "on", w.pod("web-1").Labels["hold"])
	assert.Empty(t, w.updated("app:2"))

	w.edit(pause(false))
	w.settle()
	assert.Equal(t, "PreparingUpdate", state())
	w.change("web-1", func(pod *corev1.Pod) { delete(pod.Labels, "hold") })
	w.settle()
	assert.Equal(t, []string{"web-1"}, w.updated("app:2"))
}

// Pods that left service for an update use up the limit. They go on when a Pod with a higher ordinal, which came in the meantime, has to
// wait for the limit.
func TestPodsThatLeftServiceGoOnBehindANewPod(t *testing.T) {
	w := rolled(t, "", newSet(2, inPlace, parallel, maxUnavailable("2"), held, hooks(pub.Lifecycle{
		InPlaceUpdate: &pub.LifecycleHook{LabelsHandler: map[string]string{"hold": "on"}, MarkPodNotReady: true},
	})))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, "PreparingUpdate", w.pod("web-0").Labels[pub.LifecycleStateKey])
	assert.Equal(t, "PreparingUpdate", w.pod("web-1").Labels[pub.LifecycleStateKey])
	w.edit(replicas(3))
	w.settle()
	w.edit(image("app:3"))
	for _, name := range []string{"web-0", "web-1"} {
		w.change(name, func(pod *corev1.Pod) { delete(pod.Labels, "hold") })
	}
	w.settle()
	assert.Equal(t, "app:3", w.images()["web-0"])
	assert.Equal(t, "app:3", w.images()["web-1"])
}

// A revision counts only if the label of the Pod is its complete name.
func TestRevisionsAreComparedByTheirWholeNames(t *testing.T) {
	w := rolled(t, "", newSet(1, useOnDelete))
	w.change("web-0", func(pod *corev1.Pod) {
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "another" + w.set().Status.UpdateRevision[3:]
	})
	w.settle()
	assert.Equal(t, int32(0), w.set().Status.UpdatedReplicas)
}

// Case statefulset 21: a StatefulSet that is created again adopts the Pods and the revisions that an orphaning deletion left.
func TestRecreatedSetAdoptsItsPods(t *testing.T) {
	w := rolled(t, "", newSet(2, volume("data", "1Gi")))
	w.edit(image("app:2"))
	w.settle()
	before := w.uids()
	revision := w.set().Status.UpdateRevision
	sets := v1beta1.SchemeGroupVersion.WithResource("statefulsets")
	set := w.set()
	require.NoError(t, w.Kruise.Tracker().Delete(sets, "ns", "web"))
	for _, name := range w.names() {
		w.change(name, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
	}
	list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range list.Items {
		list.Items[i].OwnerReferences = nil
		w.Update(&list.Items[i])
	}
	again := newSet(2, volume("data", "1Gi"))
	again.UID, again.Spec = "again", set.Spec
	w.Add(again)
	w.settle()
	assert.Equal(t, before, w.uids())
	assert.Equal(t, revision, w.set().Status.UpdateRevision)
	assert.Equal(t, int32(2), w.set().Status.UpdatedReadyReplicas)
	for _, pod := range w.Pods() {
		assert.Equal(t, "again", string(metav1.GetControllerOf(pod).UID))
	}
}
