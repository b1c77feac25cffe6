package daemonset

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/inplace/record"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

func canary(value string) edit {
	return rolling(func(r *v1beta1.RollingUpdateDaemonSet) {
		r.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": value}}
	})
}

func broken(images ...string) func(string) bool {
	return func(image string) bool { return slices.Contains(images, image) }
}

// A rolling update keeps maxUnavailable, which is rounded up, and begins with the highest name.
func TestRollingUpdateKeepsMaxUnavailable(t *testing.T) {
	for value, atOnce := range map[string]int{"1": 1, "20%": 1, "21%": 2, "3": 3, "100%": 5} {
		t.Run(value, func(t *testing.T) {
			w := rolled(t, "", newSet(maxUnavailable(value)), nodes(5))
			w.edit(image("app:2"))
			w.step()
			require.Len(t, w.Pods(), 5-atOnce)
			for i, name := range w.nodesWithPods() {
				assert.Equal(t, fmt.Sprint("n", i+1), name, "the last nodes are first")
			}
			w.settle()
			assert.Equal(t, []string{"n1:app:2", "n2:app:2", "n3:app:2", "n4:app:2", "n5:app:2"}, w.images())
			assert.Equal(t, 5-atOnce, w.least)
			status := w.set().Status
			assert.EqualValues(t, 5, status.UpdatedNumberScheduled)
			assert.EqualValues(t, 5, status.NumberAvailable)
			assert.EqualValues(t, 2, status.ObservedGeneration)
		})
	}
}

// Case daemonset 10: a partition keeps Pods, and the highest names are updated first.
func TestPartitionKeepsOldPods(t *testing.T) {
	w := rolled(t, "", newSet(partition("2")), nodes(5))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, []string{"n1:app:1", "n2:app:1", "n3:app:2", "n4:app:2", "n5:app:2"}, w.images())
	assert.EqualValues(t, 3, w.set().Status.UpdatedNumberScheduled)
	w.edit(partition("0"))
	w.settle()
	assert.Equal(t, []string{"n1:app:2", "n2:app:2", "n3:app:2", "n4:app:2", "n5:app:2"}, w.images())
}

// A Pod stays on a node that gets a taint without NoExecute. The node counts in the rollout, but not among those that need a Pod.
func TestPartitionKeepsPodsOnNodesThatNeedNone(t *testing.T) {
	for _, keep := range []string{"5", "1000", "100%"} {
		for _, surge := range []string{"0", "1"} {
			t.Run(keep+" surge "+surge, func(t *testing.T) {
				w := rolled(t, "", newSet(partition(keep), maxSurge(surge)), nodes(5))
				w.changeNode("n1", taint(corev1.TaintEffectNoSchedule))
				w.edit(image("app:2"))
				w.settle()
				assert.Equal(t, []string{"n1:app:1", "n2:app:1", "n3:app:1", "n4:app:1", "n5:app:1"}, w.images())
			})
		}
	}
}

func TestPercentageOfAPartitionIsRoundedDown(t *testing.T) {
	w := rolled(t, "", newSet(partition("50%"), maxUnavailable("100%")), nodes(7))
	w.edit(image("app:2"))
	w.settle()
	assert.EqualValues(t, 4, w.set().Status.UpdatedNumberScheduled)
}

// Case daemonset 11: a node selector limits the update, and a node that comes to match it is updated.
func TestSelectorOfNodesLimitsTheUpdate(t *testing.T) {
	w := rolled(t, "", newSet(canary("yes")), nodes(3))
	w.changeNode("n1", label("canary", "yes"))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, []string{"n1:app:2", "n2:app:1", "n3:app:1"}, w.images())
	w.changeNode("n3", label("canary", "yes"))
	w.settle()
	assert.Equal(t, []string{"n1:app:2", "n2:app:1", "n3:app:2"}, w.images())
}

// Nodes that the spec leaves out are as it asks for.
func TestCanaryIsCompleteWithoutTheNodesThatItLeavesOut(t *testing.T) {
	reconciling := func(set *v1beta1.DaemonSet) bool {
		return slices.ContainsFunc(set.Status.Conditions, func(c appsv1.DaemonSetCondition) bool { return c.Type == "Reconciling" })
	}
	w := rolled(t, "", newSet(canary("yes"), maxUnavailable("1")), nodes(3))
	for _, name := range []string{"n1", "n2"} {
		w.changeNode(name, label("canary", "yes"))
	}
	w.edit(image("app:2"))
	w.step()
	w.step()
	assert.True(t, reconciling(w.set()), "one of two nodes is updated")
	w.settle()
	assert.Equal(t, int32(2), w.set().Status.UpdatedNumberScheduled)
	assert.False(t, reconciling(w.set()))
	progress := kinds.ProgressOf(w.set())
	assert.True(t, progress.Done())
	assert.Equal(t, 2, progress.Target)

	// A node that comes to match is updated.
	w.changeNode("n3", label("canary", "yes"))
	w.step()
	w.step()
	assert.True(t, reconciling(w.set()))
	w.settle()
	assert.False(t, reconciling(w.set()))

	// partitionedScaling leaves nodes without a Pod.
	w = newWorld(t, "", append(nodes(5), newSet(partition("3"), func(s *v1beta1.DaemonSetSpec) { s.ScaleStrategy.PartitionedScaling = true }))...)
	w.settle()
	assert.Len(t, w.Pods(), 2)
	assert.False(t, reconciling(w.set()))
	assert.True(t, kinds.ProgressOf(w.set()).Done())
}

func TestPartitionCountsNodesThatTheSelectorLeavesOut(t *testing.T) {
	w := rolled(t, "", newSet(canary("yes"), partition("4")), nodes(5))
	for _, name := range []string{"n1", "n2", "n4"} {
		w.changeNode(name, label("canary", "yes"))
	}
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, []string{"n1:app:1", "n2:app:1", "n3:app:1", "n4:app:2", "n5:app:1"}, w.images())
}

// Case daemonset 12: a paused set updates nothing, and still creates Pods, at the new revision.
func TestPausedSetStillCreatesPods(t *testing.T) {
	w := rolled(t, "", newSet(paused(true)), nodes(2))
	w.edit(image("app:2"))
	w.Add(newNode("n3"))
	w.settle()
	assert.Equal(t, []string{"n1:app:1", "n2:app:1", "n3:app:2"}, w.images())
	assert.EqualValues(t, 2, w.set().Status.ObservedGeneration)
	w.edit(paused(false))
	w.settle()
	assert.Equal(t, []string{"n1:app:2", "n2:app:2", "n3:app:2"}, w.images())
}

func TestUpdateOnDeleteWaitsForTheUser(t *testing.T) {
	w := rolled(t, "", newSet(deleteOnly), nodes(2))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, []string{"n1:app:1", "n2:app:1"}, w.images())
	w.lose(w.on("n1"))
	w.settle()
	assert.Equal(t, []string{"n1:app:2", "n2:app:1"}, w.images())
	assert.EqualValues(t, 1, w.set().Status.UpdatedNumberScheduled)
}

// Validation accepts such a block, because it has no effect.
func TestUpdateOnDeleteIgnoresTheBlockOfTheRollingUpdate(t *testing.T) {
	w := rolled(t, "", newSet(deleteOnly, func(s *v1beta1.DaemonSetSpec) {
		s.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateDaemonSet{Partition: new(intstr.FromString("5"))}
	}), nodes(2))
	assert.Equal(t, []string{"n1:app:1", "n2:app:1"}, w.images())
	assert.EqualValues(t, 1, w.set().Status.ObservedGeneration)
}

// Case daemonset 20: an old Pod that is not ready is replaced though maxUnavailable is used up.
func TestBrokenOldPodIsReplacedForFree(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(3))
	w.edit(image("app:2"))
	w.node.Broken = broken("app:2")
	w.settle()
	require.Equal(t, []string{"n1:app:1", "n2:app:1", "n3:app:2"}, w.images(), "the new Pod is not ready")
	w.changePod(w.on("n1"), func(pod *corev1.Pod) {
		controllertest.SetConditionOf(pod, corev1.PodReady, corev1.ConditionFalse, w.Clock.Now())
	})
	w.node.Broken = broken("app:1", "app:2")
	for range 1 + controllertest.StopSteps {
		w.step()
	}
	assert.Equal(t, []string{"n1:app:2", "n2:app:1", "n3:app:2"}, w.images())
	w.node.Broken = nil
	w.settle()
	assert.Equal(t, []string{"n1:app:2", "n2:app:2", "n3:app:2"}, w.images())
}

// An old Pod that is broken takes its unit of maxUnavailable, so no available one goes in addition.
func TestBrokenOldPodTakesItsUnit(t *testing.T) {
	w := rolled(t, "", newSet(maxUnavailable("2")), nodes(4))
	w.changePod(w.on("n1"), func(pod *corev1.Pod) {
		controllertest.SetConditionOf(pod, corev1.PodReady, corev1.ConditionFalse, w.Clock.Now())
	})
	w.edit(image("app:2"))
	w.step()
	assert.Equal(t, []string{"n2", "n3"}, w.nodesWithPods(), "the broken one and one more")
}

// Case daemonset 18: an old template makes no new revision.
func TestRollbackBumpsTheOldRevision(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(1))
	first := w.set().Status.UpdateRevision
	w.edit(image("app:2"))
	w.settle()
	require.NotEqual(t, first, w.set().Status.UpdateRevision)
	w.edit(image("app:1"))
	w.settle()
	assert.Equal(t, first, w.set().Status.UpdateRevision)
	list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	numbers := map[string]int64{}
	for _, revision := range list.Items {
		numbers[revision.Labels["controller-revision-hash"]] = revision.Revision
	}
	assert.EqualValues(t, 3, numbers[first])
}

// Case daemonset 21: a revision that was restored by hand under another name goes, and its Pods stay.
func TestEqualRevisionsBecomeOne(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(3))
	list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	restored := list.Items[0].DeepCopy()
	restored.Name, restored.UID, restored.Revision = "web-restored", "restored", 7
	w.Add(restored)
	before := map[string]bool{}
	for _, pod := range w.Pods() {
		before[string(pod.UID)] = true
	}
	w.settle()
	for _, pod := range w.Pods() {
		assert.Equal(t, "restored", pod.Labels["controller-revision-hash"])
		assert.True(t, before[string(pod.UID)], "the same Pod")
	}
	list, err = w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, "web-restored", list.Items[0].Name)
	assert.Equal(t, "restored", w.set().Status.UpdateRevision)
}

// Case daemonset 31.
func TestHistoryIsTrimmed(t *testing.T) {
	w := rolled(t, "", newSet(func(s *v1beta1.DaemonSetSpec) { s.RevisionHistoryLimit = new(int32(2)) }), nodes(1))
	for i := range 5 {
		w.edit(image(fmt.Sprint("app:", i+2)))
		w.settle()
	}
	list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 3)
}

// Case daemonset 23: with a preDelete hook, one Pod at a time is held, and the generation is observed meanwhile.
func TestHookHoldsOnePodAtATime(t *testing.T) {
	hooked := func(s *v1beta1.DaemonSetSpec) {
		s.Template.Labels["hook"] = "on"
		s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}}}
	}
	w := rolled(t, "", newSet(hooked), nodes(3))
	before := w.set().Status.UpdateRevision
	w.edit(env("1"))
	w.settle()
	held := func() (names []string) {
		for _, pod := range w.Pods() {
			if pod.Labels[pub.LifecycleStateKey] == "PreparingDelete" {
				names = append(names, pod.Spec.NodeName)
			}
		}
		return names
	}
	status := w.set().Status
	assert.EqualValues(t, 2, status.ObservedGeneration)
	assert.NotEqual(t, before, status.UpdateRevision)
	assert.Equal(t, []string{"n3"}, held())
	assert.EqualValues(t, 3, status.NumberAvailable, "it serves until it is deleted")
	assert.Len(t, w.Pods(), 3)
	for _, next := range []string{"n2", "n1"} {
		w.changePod(w.on(held()[0]), func(pod *corev1.Pod) { delete(pod.Labels, "hook") })
		w.settle()
		assert.Equal(t, []string{next}, held())
		assert.Len(t, w.Pods(), 3)
	}
	w.changePod(w.on("n1"), func(pod *corev1.Pod) { delete(pod.Labels, "hook") })
	w.settle()
	assert.Empty(t, held())
	assert.EqualValues(t, 3, w.set().Status.UpdatedNumberScheduled)
}

// Case daemonset 4: an image changes in place, one Pod at a time.
func TestImageChangesInPlace(t *testing.T) {
	w := rolled(t, "", newSet(inPlaceIfPossible), nodes(3))
	before := map[string]string{}
	for _, pod := range w.Pods() {
		before[pod.Spec.NodeName] = string(pod.UID)
		assert.True(t, podstate.HasGate(pod, pub.InPlaceUpdateReadyConditionType))
	}
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, 2, w.least)
	for _, pod := range w.Pods() {
		assert.Equal(t, before[pod.Spec.NodeName], string(pod.UID))
		assert.EqualValues(t, 1, pod.Status.ContainerStatuses[0].RestartCount)
		assert.Equal(t, "app:2", pod.Status.ContainerStatuses[0].Image)
		assert.Equal(t, w.set().Status.UpdateRevision, pod.Labels["controller-revision-hash"])
		recorded, err := record.Read(pod)
		require.NoError(t, err)
		assert.Equal(t, pod.Labels["controller-revision-hash"], recorded.Revision)
	}
	events := w.eventsLike("Normal SuccessfulUpdatePodInPlace successfully update pod ")
	require.Len(t, events, 3)
	assert.Contains(t, events[0], " in-place")
	assert.EqualValues(t, 3, w.set().Status.NumberAvailable)
}

// The label that picks Pods of other workloads for deletion has no effect on a DaemonSet.
func TestPickedPodIsUpdatedInPlaceAsAnyOther(t *testing.T) {
	w := rolled(t, "", newSet(inPlaceIfPossible), nodes(1))
	before := w.on("n1").UID
	w.changePod(w.on("n1"), func(pod *corev1.Pod) { pod.Labels[pub.SpecifiedDeleteKey] = "true" })
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, before, w.on("n1").UID)
	assert.EqualValues(t, 1, w.set().Status.NumberAvailable)
	assert.Equal(t, []string{"n1:app:2"}, w.images())
}

// The state of one Pod is unknown, so nobody knows whether it may be updated. The Pods of the other nodes are.
func TestPodWithAnUnknownStateDoesNotHoldUpOthers(t *testing.T) {
	w := rolled(t, "", newSet(inPlaceIfPossible, maxUnavailable("3")), nodes(3))
	w.changePod(w.on("n3"), func(pod *corev1.Pod) { pod.Labels["lifecycle.apps.kruise.io/state"] = "Unknown" })
	w.edit(image("app:2"))
	for range 5 {
		w.Observe()
		_, _ = w.Pass("ns", "web")
		w.kubelet()
	}
	assert.Equal(t, []string{"n1:app:2", "n2:app:2", "n3:app:1"}, w.images())
}

// A Pod whose update in place is not complete holds its unit of maxUnavailable.
func TestUpdateInPlaceHoldsItsUnit(t *testing.T) {
	w := rolled(t, "", newSet(inPlaceIfPossible), nodes(3))
	w.edit(image("app:2"))
	for range 5 {
		w.step()
	}
	assert.Equal(t, []string{"n1:app:1", "n2:app:1", "n3:app:2"}, w.images())
	status := w.set().Status
	assert.EqualValues(t, 1, status.UpdatedNumberScheduled)
	assert.EqualValues(t, 2, status.NumberAvailable)
	assert.EqualValues(t, 2, status.ObservedGeneration)
}

// Case daemonset 5: a Pod without the readiness gate is recreated.
func TestPodWithoutTheGateIsRecreated(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(2))
	before := w.on("n1").UID
	w.edit(inPlaceIfPossible, image("app:2"))
	w.settle()
	assert.NotEqual(t, before, w.on("n1").UID)
	assert.True(t, podstate.HasGate(w.on("n1"), pub.InPlaceUpdateReadyConditionType))
	before = w.on("n1").UID
	w.edit(image("app:3"))
	w.settle()
	assert.Equal(t, before, w.on("n1").UID)
}

// Case daemonset 24: after an update in place, a change that is not possible in place recreates the Pods, with the gate.
func TestOtherChangesRecreatePods(t *testing.T) {
	w := rolled(t, "", newSet(inPlaceIfPossible), nodes(2))
	before := w.on("n1").UID
	w.edit(image("app:2"))
	w.settle()
	require.Equal(t, before, w.on("n1").UID)
	w.edit(env("1"))
	w.settle()
	assert.NotEqual(t, before, w.on("n1").UID)
	assert.True(t, podstate.HasGate(w.on("n1"), pub.InPlaceUpdateReadyConditionType))
}

// Case daemonset 27: a surge puts a second Pod on every node, and old Pods stay until the new ones are available.
func TestSurgeKeepsOldPodsUntilNewOnesAreAvailable(t *testing.T) {
	ready := func(s *v1beta1.DaemonSetSpec) { s.MinReadySeconds = 10 }
	w := rolled(t, "", newSet(ready, maxSurge("100%")), nodes(3))
	w.pass(time.Minute)
	w.settle()
	w.edit(image("app:2"))
	w.settle()
	require.Len(t, w.Pods(), 6, "a second Pod on every node at once")
	assert.EqualValues(t, 3, w.set().Status.NumberAvailable, "the old Pods serve")
	w.pass(10 * time.Second)
	w.settle()
	require.Len(t, w.Pods(), 6, "for more than ten seconds")
	assert.Equal(t, time.Second, w.recheck)
	w.pass(time.Second)
	w.settle()
	assert.Equal(t, []string{"n1:app:2", "n2:app:2", "n3:app:2"}, w.images())
	assert.Equal(t, 3, w.least)
}

func TestSurgeNeverEndsWithTheLongestMinReadySeconds(t *testing.T) {
	w := rolled(t, "", newSet(maxSurge("1")), nodes(3))
	w.pass(time.Minute)
	w.edit(image("app:2"), func(s *v1beta1.DaemonSetSpec) { s.MinReadySeconds = math.MaxInt32 })
	w.settle()
	assert.Len(t, w.Pods(), 6, "the old Pods stay beside the new ones")
}

// Case daemonset 16: a surge of 1 replaces one Pod after the other.
func TestSurgeOfOne(t *testing.T) {
	w := rolled(t, "", newSet(maxSurge("1")), nodes(5))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, 6, w.most)
	assert.Equal(t, 5, w.least)
	assert.Equal(t, []string{"n1:app:2", "n2:app:2", "n3:app:2", "n4:app:2", "n5:app:2"}, w.images())
}

func TestBrokenSurgeStops(t *testing.T) {
	w := rolled(t, "", newSet(maxSurge("2")), nodes(5))
	w.pass(time.Second) // The new Pods are younger.
	w.node.Broken = broken("app:2")
	w.edit(image("app:2"))
	w.settle()
	assert.Len(t, w.Pods(), 7)
	assert.EqualValues(t, 5, w.set().Status.NumberReady)
	w.node.Broken = nil
	w.edit(image("app:1"))
	w.settle()
	assert.Len(t, w.Pods(), 5)
	assert.Equal(t, 5, w.least, "the old Pods were never touched")
}

// Of two Pods that are not ready, the new one stays.
func TestBrokenOldPodLeavesASurge(t *testing.T) {
	w := rolled(t, "", newSet(maxSurge("1")), nodes(1))
	w.pass(time.Second)
	w.node.Broken = broken("app:1", "app:2")
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, []string{"n1:app:2"}, w.images())
}

func TestUpdateWithoutAnyAllowanceTakesOnePodAtATime(t *testing.T) {
	w := rolled(t, "", newSet(maxUnavailable("0%")), nodes(3))
	w.edit(image("app:2"))
	w.settle()
	assert.Equal(t, 2, w.least)
	assert.EqualValues(t, 3, w.set().Status.UpdatedNumberScheduled)
}

func TestSurgeReplacesBrokenPodsAtOnce(t *testing.T) {
	w := rolled(t, "", newSet(maxSurge("1")), nodes(3))
	for _, pod := range w.Pods() {
		w.changePod(pod, func(pod *corev1.Pod) {
			controllertest.SetConditionOf(pod, corev1.PodReady, corev1.ConditionFalse, w.Clock.Now())
		})
	}
	w.edit(image("app:2"))
	w.step()
	assert.Len(t, w.Pods(), 6)
}

// Case daemonset 28: nodes that the template excludes take no part in the rollout, even if their Pods never end.
func TestLostNodesDoNotStopARollout(t *testing.T) {
	for _, gate := range []string{"DaemonSetPruneIneligibleNodes=true", ""} {
		t.Run(gate, func(t *testing.T) { rolloutWithLostNodes(t, gate) })
	}
}

func rolloutWithLostNodes(t *testing.T, gate string) {
	t.Helper()
	w := rolled(t, gate, newSet(maxUnavailable("2")), nodes(5))
	w.lingers("n4", "n5")
	w.edit(image("app:2"), func(s *v1beta1.DaemonSetSpec) {
		s.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n4", "n5"}},
				},
			}}},
		}}
	})
	w.settle()
	for _, name := range []string{"n4", "n5"} {
		assert.NotNil(t, w.on(name).DeletionTimestamp)
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		assert.Equal(t, "app:2", w.on(name).Spec.Containers[0].Image)
	}
	assert.EqualValues(t, 3, w.set().Status.UpdatedNumberScheduled)
}

// Case daemonset 29: image and resources change together in place with one restart.
func TestResourcesChangeInPlace(t *testing.T) {
	requests := func(cpu string) edit {
		return func(s *v1beta1.DaemonSetSpec) {
			s.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resourceOf(cpu)}
		}
	}
	w := rolled(t, "InPlaceWorkloadVerticalScaling=true", newSet(inPlaceIfPossible, requests("1")), nodes(2))
	before := w.on("n1").UID
	w.node.Small = true
	w.edit(image("app:2"), requests("2"))
	w.settle()
	status := w.set().Status
	assert.EqualValues(t, 2, status.ObservedGeneration)
	assert.EqualValues(t, 0, status.UpdatedNumberScheduled-status.NumberUnavailable, "the node has not resized the container")
	w.node.Small = false
	w.kubelet()
	w.settle()
	status = w.set().Status
	assert.EqualValues(t, 2, status.UpdatedNumberScheduled-status.NumberUnavailable)
	assert.Equal(t, before, w.on("n1").UID)
	assert.EqualValues(t, 1, w.on("n1").Status.ContainerStatuses[0].RestartCount)
}

func TestFailureHoldsBackTheGeneration(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(2))
	w.Add(newNode("n3"))
	w.edit(image("app:2"))
	refusePods(w, "n3")
	w.Observe()
	_, err := w.Pass("ns", "web")
	require.Error(t, err)
	assert.EqualValues(t, 1, w.set().Status.ObservedGeneration)
	assert.NotEmpty(t, w.eventsLike("Warning FailedCreate Error creating: "))
}

// Old revisions that Pods use count against the limit, as in Kubernetes, and stay.
// Case daemonset 31.
func TestUsedRevisionsCountAgainstTheHistoryLimit(t *testing.T) {
	w := rolled(t, "", newSet(func(s *v1beta1.DaemonSetSpec) { s.RevisionHistoryLimit = new(int32(2)) }), nodes(1))
	for _, name := range []string{"app:2", "app:3", "app:4"} {
		w.edit(image(name))
		w.settle()
	}
	w.edit(func(s *v1beta1.DaemonSetSpec) {
		s.UpdateStrategy = v1beta1.DaemonSetUpdateStrategy{Type: v1beta1.OnDeleteDaemonSetStrategyType}
	}, image("app:5"))
	w.settle()
	numbers := func() (numbers []int64) {
		list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for i := range list.Items {
			numbers = append(numbers, list.Items[i].Revision)
		}
		slices.Sort(numbers)
		return numbers
	}
	assert.Equal(t, []int64{3, 4, 5}, numbers(), "the Pods use revision 4, and 5 is the newest")
	w.edit(image("app:6"), func(s *v1beta1.DaemonSetSpec) { s.RevisionHistoryLimit = new(int32(0)) })
	w.settle()
	assert.Equal(t, []int64{4, 6}, numbers(), "what the Pods use stays")
}
