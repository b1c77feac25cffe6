package sidecarset

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/passes"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// Cases sidecarset 11, 13.
func TestUpgradeKeepsItsBound(t *testing.T) {
	tests := map[string]struct {
		pods  int
		limit intstr.IntOrString
		bound int
	}{
		"a number":                 {10, intstr.FromInt32(2), 2},
		"a percentage, rounded up": {3, intstr.FromString("10%"), 1},
		"half":                     {4, intstr.FromString("50%"), 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, maxUnavailable(test.limit))
			w.start(test.pods)
			w.settle()
			n := int32(test.pods)
			assert.Equal(t, [4]int32{n, n, n, n}, w.counters())
			w.edit(image("s:2"))
			w.pass()
			assert.Equal(t, test.bound, w.count("s", "s:2"), "as many as the bound allows go at once")
			w.settle(w.bound(test.bound))
			assert.Equal(t, test.pods, w.count("s", "s:2"))
			assert.Equal(t, [4]int32{n, n, n, n}, w.counters())
			assert.Equal(t, test.pods, w.count("main", "app:1"))
		})
	}
}

// Cases sidecarset 12, 14.
func TestWhichPodsAreUpgraded(t *testing.T) {
	canary := func(set *v1beta1.SidecarSet) {
		set.Spec.UpdateStrategy.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "true"}}
	}
	tests := map[string]struct {
		pods int
		edit func(*v1beta1.SidecarSet)
		want int32
	}{
		"a partition of 90%":           {10, partition(intstr.FromString("90%")), 1},
		"a partition of 99% of 2":      {2, partition(intstr.FromString("99%")), 1},
		"a partition of 100%":          {10, partition(intstr.FromString("100%")), 0},
		"a partition of 3":             {10, partition(intstr.FromInt32(3)), 7},
		"a partition beyond all":       {3, partition(intstr.FromInt32(9)), 0},
		"selected":                     {5, canary, 2},
		"maxUnavailable 0":             {3, maxUnavailable(intstr.FromInt32(0)), 0},
		"no maxUnavailable":            {3, func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.MaxUnavailable = nil }, 3},
		"paused":                       {3, func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.Paused = true }, 0},
		"new Pods only":                {3, notUpdate, 0},
		"injection is paused, no more": {3, func(set *v1beta1.SidecarSet) { set.Spec.InjectionStrategy.Paused = true }, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start(test.pods, func(pod *corev1.Pod) {
				if pod.Name == "web-01" || pod.Name == "web-03" {
					pod.Labels["canary"] = "true"
				}
			})
			w.settle()
			w.edit(image("s:2"), test.edit)
			w.settle()
			assert.EqualValues(t, test.want, w.count("s", "s:2"))
			assert.Equal(t, test.want, w.set().Status.UpdatedPods)
		})
	}
}

// Case sidecarset 36.
func TestPausedUpgradeContinues(t *testing.T) {
	w := newWorld(t)
	w.start(4)
	w.settle()
	w.edit(image("s:2"))
	w.pass()
	w.run()
	w.edit(func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.Paused = true })
	w.settle()
	assert.Equal(t, [4]int32{4, 1, 4, 1}, w.counters())
	w.edit(func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.Paused = false })
	w.settle()
	assert.Equal(t, [4]int32{4, 4, 4, 4}, w.counters())
}

// Priority decides before the order of the Pods, and scatter spreads the result.
func TestOrderOfUpgrades(t *testing.T) {
	labelled := func(key string, values ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			var number int
			_, err := fmt.Sscanf(pod.Name, "web-%d", &number)
			require.NoError(t, err)
			if value := values[number]; value != "" {
				pod.Labels[key] = value
			}
		}
	}
	tests := map[string]struct {
		edit func(*v1beta1.SidecarSetUpdateStrategy)
		pods func(*corev1.Pod)
		want []string
	}{
		"weights": {
			edit: func(s *v1beta1.SidecarSetUpdateStrategy) {
				s.PriorityStrategy = &pub.UpdatePriorityStrategy{WeightPriority: []pub.UpdatePriorityWeightTerm{
					{Weight: 50, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"k": "low"}}},
					{Weight: 80, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"k": "high"}}},
				}}
			},
			pods: labelled("k", "", "low", "high", ""), want: []string{"web-02", "web-01", "web-00", "web-03"},
		},
		"a key": {
			edit: func(s *v1beta1.SidecarSetUpdateStrategy) {
				s.PriorityStrategy = &pub.UpdatePriorityStrategy{OrderPriority: []pub.UpdatePriorityOrderTerm{{OrderedKey: "k"}}}
			},
			pods: labelled("k", "x-1", "x-3", "", "x-2"), want: []string{"web-02", "web-01", "web-03", "web-00"},
		},
		"scattered over any value": {
			edit: func(s *v1beta1.SidecarSetUpdateStrategy) {
				s.ScatterStrategy = []pub.UpdateScatterTerm{{Key: "k", Value: "*"}}
			},
			pods: labelled("k", "a", "a", "", ""), want: []string{"web-00", "web-02", "web-03", "web-01"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(set *v1beta1.SidecarSet) { test.edit(&set.Spec.UpdateStrategy) })
			w.start(4, test.pods)
			w.settle()
			w.edit(image("s:2"), maxUnavailable(intstr.FromInt32(4)))
			w.Observe()
			v, err := w.r.observe(w.set())
			require.NoError(t, err)
			chosen, err := v.choose()
			require.NoError(t, err)
			var order []string
			for _, pod := range chosen.upgrade {
				order = append(order, pod.Name)
			}
			assert.Equal(t, test.want, order)
		})
	}
}

func conditionOf(pod *corev1.Pod) string {
	c := podstate.Condition(pod, "SidecarSetUpgradable")
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
}

// Case sidecarset 15.
func TestOtherChangesThanImagesAreReported(t *testing.T) {
	w := newWorld(t)
	w.start(3)
	w.settle()
	w.Events()
	env := func(value string) func(*v1beta1.SidecarSet) {
		return func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: value}} }
	}
	w.edit(env("1"), image("s:2"))
	w.settle()
	assert.Equal(t, 3, w.count("s", "s:1"), "no Pod changes")
	assert.Equal(t, [4]int32{3, 0, 3, 0}, w.counters())
	assert.Equal(t, []string{"Normal NotUpgradablePods 3 Pods cannot be upgraded in place, because more than images changed or an " +
		"annotation cannot be read; they are upgraded when they are recreated"}, w.Events(), "once")
	for _, pod := range w.Pods() {
		assert.Equal(t, `False UpdateImmutableField {"logs":false}`, conditionOf(pod))
	}
	fresh := w.start(1)
	w.settle()
	assert.Equal(t, [4]int32{4, 1, 4, 1}, w.counters())
	assert.Empty(t, conditionOf(fresh[0]))

	w.edit(func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].Env = nil })
	w.settle()
	assert.Equal(t, 4, w.count("s", "s:2"), "the spec returned, but for the image")
	assert.Equal(t, [4]int32{4, 3, 4, 3}, w.counters(), "the new Pod has the variable")
	assert.Equal(t, `True AllSidecarsetUpgradable {"logs":true}`, conditionOf(w.Pods()[0]))
}

// Each SidecarSet has its entry in the condition of a Pod. Entries of deleted SidecarSets are dropped.
// Case sidecarset 45.
func TestConditionOfSeveralSidecarSets(t *testing.T) {
	w := newWorld(t)
	other := w.set().DeepCopy()
	other.Name, other.UID = "other", ""
	w.Add(other)
	w.start(1, func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: "SidecarSetUpgradable", Status: corev1.ConditionFalse, Message: `{"other":false,"gone":false}`,
		})
	})
	w.settle()
	w.edit(image("s:2"))
	w.settle()
	assert.Equal(t, `False UpdateImmutableField {"logs":true,"other":false}`, conditionOf(w.Pods()[0]))
	require.NoError(t, w.Kruise.Tracker().Delete(resource, "", "other"))
	w.edit(image("s:3"), func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].Args = []string{"x"} })
	w.settle()
	w.edit(func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].Args = nil })
	w.settle()
	assert.Equal(t, `True AllSidecarsetUpgradable {"logs":true}`, conditionOf(w.Pods()[0]))
}

// The own entry does not change, but the condition is of a SidecarSet that is gone.
func TestConditionForgetsADeletedSidecarSetWithTheNextUpgrade(t *testing.T) {
	w := newWorld(t)
	w.start(1, func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: "SidecarSetUpgradable", Status: corev1.ConditionFalse, Message: `{"gone":false,"logs":true}`,
		})
	})
	w.edit(image("s:2"))
	w.settle()
	assert.Equal(t, `True AllSidecarsetUpgradable {"logs":true}`, conditionOf(w.Pods()[0]))
}

// The Pod looks healthy, and its upgrade could never be written. It does not hold up the others, and an event says why.
func TestPodWithAnUnreadableAnnotationHoldsUpNobody(t *testing.T) {
	merge := func(set *v1beta1.SidecarSet) {
		set.Spec.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{
			{Annotations: map[string]string{"x/k": `{"c":1}`}, PatchPolicy: v1beta1.SidecarSetMergePatchJSONPatchPolicy},
		}
	}
	for _, key := range []string{"kruise.io/sidecarset-hash", "kruise.io/sidecarset-hash-without-image", "x/k"} {
		t.Run(key, func(t *testing.T) {
			w := newWorld(t, merge)
			w.start(3)
			w.settle()
			before := w.Pods()[0].Annotations[key]
			w.change(w.Pods()[0], func(pod *corev1.Pod) { pod.Annotations[key] = "x" })
			w.Events()
			w.edit(image("s:2"))
			w.settle()
			assert.Equal(t, []string{"s:1", "s:2", "s:2"}, w.images("s"))
			assert.Equal(t, `False UpdateImmutableField {"logs":false}`, conditionOf(w.Pods()[0]))
			events := w.Events()
			require.Len(t, events, 2, "once")
			assert.Contains(t, events[0], "Warning NotUpgradable SidecarSet logs cannot upgrade this Pod: ")
			assert.Contains(t, events[0], `annotation "`+key+`"`)
			assert.Contains(t, events[1], "Normal NotUpgradablePods 1 Pods cannot be upgraded in place")

			w.change(w.Pods()[0], func(pod *corev1.Pod) { pod.Annotations[key] = before })
			w.settle()
			assert.Equal(t, 3, w.count("s", "s:2"), "the annotation was corrected")
			assert.Equal(t, `True AllSidecarsetUpgradable {"logs":true}`, conditionOf(w.Pods()[0]))
		})
	}
}

// The annotation of hot upgrades belongs to another SidecarSet.
func TestPodIsUpgradedWhateverTheAnnotationOfHotUpgradesSays(t *testing.T) {
	w := newWorld(t)
	w.start(3)
	w.settle()
	w.change(w.Pods()[0], func(pod *corev1.Pod) { pod.Annotations["kruise.io/sidecarset-working-hotupgrade-container"] = "x" })
	w.edit(image("s:2"))
	w.settle()
	assert.Equal(t, 3, w.count("s", "s:2"))
	assert.Equal(t, "x", w.Pods()[0].Annotations["kruise.io/sidecarset-working-hotupgrade-container"])
}

// A write of a condition is no event that causes a pass.
func TestConditionsAreWrittenInAsManyPassesAsItTakes(t *testing.T) {
	w := newWorld(t)
	w.start(5 * passes.Width)
	w.settle()
	w.edit(func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].Args = []string{"x"} })
	// Each write takes some time. The first ones begin together.
	var lock sync.Mutex
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		lock.Lock()
		defer lock.Unlock()
		w.Clock.SetTime(w.Clock.Now().Add(100 * time.Millisecond))
		return false, nil, nil
	})
	passes := 1
	for w.Observe(); ; passes++ {
		require.Less(t, passes, 100)
		result, err := w.c.Reconcile(t.Context(), types.NamespacedName{Name: "logs"})
		require.NoError(t, err)
		w.Observe()
		if result.RequeueAfter == 0 {
			break
		}
		w.Clock.SetTime(w.Clock.Now().Add(result.RequeueAfter))
	}
	assert.Greater(t, passes, 1)
	for _, pod := range w.Pods() {
		assert.Equal(t, `False UpdateImmutableField {"logs":false}`, conditionOf(pod), pod.Name)
	}
}

// A Pod that already has what the spec returns to is not upgraded again, but it can be from now on.
func TestConditionFollowsASpecThatReturns(t *testing.T) {
	w := newWorld(t)
	w.start(1)
	w.settle()
	w.edit(func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].Args = []string{"x"} })
	w.settle()
	assert.Equal(t, `False UpdateImmutableField {"logs":false}`, conditionOf(w.Pods()[0]))
	w.edit(func(set *v1beta1.SidecarSet) { set.Spec.Containers[0].Args = nil })
	w.settle()
	assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())
	assert.Equal(t, `True AllSidecarsetUpgradable {"logs":true}`, conditionOf(w.Pods()[0]))
}

// Case sidecarset 16.
func TestReturnToTheImageOfAPodRestartsNothing(t *testing.T) {
	w := newWorld(t, partition(intstr.FromInt32(1)))
	w.start(2)
	w.settle()
	w.edit(image("s:2"))
	w.settle()
	require.Equal(t, 1, w.count("s", "s:2"))
	old := w.set().Annotations["kruise.io/sidecarset-hash"]
	w.edit(image("s:1"), partition(intstr.FromInt32(0)))
	w.settle()
	assert.Equal(t, [4]int32{2, 2, 2, 2}, w.counters())
	assert.NotEqual(t, old, w.set().Annotations["kruise.io/sidecarset-hash"])
	restarts := map[string]int32{}
	for _, pod := range w.Pods() {
		for _, status := range pod.Status.ContainerStatuses {
			restarts[pod.Name+"/"+status.Name] = status.RestartCount
		}
	}
	assert.ElementsMatch(t, []int32{0, 2}, []int32{restarts["web-00/s"], restarts["web-01/s"]}, "%v", restarts)
	assert.Zero(t, restarts["web-00/main"]+restarts["web-01/main"])
}

// Cases sidecarset 41, 48.
func TestPodsOnABadImageAreReplacedAtOnce(t *testing.T) {
	w := newWorld(t, maxUnavailable(intstr.FromString("50%")))
	w.node.Broken = func(image string) bool { return image == "s:bad" }
	w.start(4)
	w.settle()
	w.edit(image("s:bad"))
	w.settle(w.bound(2))
	assert.Equal(t, [4]int32{4, 2, 2, 0}, w.counters())
	w.edit(image("s:2"))
	w.pass()
	assert.Equal(t, 4, w.count("s", "s:2"), "those on the bad image are free, and two that are ready go with them")
	w.settle()
	assert.Equal(t, [4]int32{4, 4, 4, 4}, w.counters())
}

// From the write on, a Pod counts as unavailable, also while its old container takes its time to end.
// Case sidecarset 47.
func TestPodCountsFromTheWriteOn(t *testing.T) {
	w := newWorld(t)
	w.start(2)
	w.settle()
	w.edit(image("s:2"))
	w.pass()
	w.pass()
	w.pass()
	assert.Equal(t, 1, w.count("s", "s:2"), "the node has not acted")
	assert.Equal(t, [4]int32{2, 1, 1, 0}, w.counters())
	w.settle()
	assert.Equal(t, [4]int32{2, 2, 2, 2}, w.counters())
}

// A Pod whose upgrade is not finished counts, even if the SidecarSet changes again meanwhile.
// Case sidecarset 47.
func TestChangesInARowKeepTheBound(t *testing.T) {
	w := newWorld(t)
	w.start(3)
	w.settle()
	for _, version := range []string{"s:2", "s:3", "s:4"} {
		w.edit(image(version))
		w.pass()
	}
	assert.Equal(t, 2, w.count("s", "s:1"), "the node has not acted")
	w.settle()
	assert.Equal(t, 3, w.count("s", "s:4"))
}

// A record of upgrades that cannot be read holds up its own Pod only.
func TestPodWithAnUnreadableRecordHoldsUpNobody(t *testing.T) {
	w := newWorld(t)
	w.start(3)
	w.settle()
	w.edit(image("s:2"))
	w.settle()
	w.change(w.Pods()[0], func(pod *corev1.Pod) { pod.Annotations[pub.SidecarSetInPlaceUpdateStateKey] = "x" })
	w.edit(image("s:3"))
	w.settle()
	assert.Equal(t, 2, w.count("s", "s:3"))
}

// Cases sidecarset 20, 37.
func TestStaleCacheDoesNotUpgradeTwice(t *testing.T) {
	w := newWorld(t)
	w.start(3)
	w.settle()
	w.edit(image("s:2"))
	w.Observe()
	require.NoError(t, w.passOverStaleCaches())
	require.Equal(t, 1, w.count("s", "s:2"))
	upgraded := slices.Index(w.images("s"), "s:2")
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "web", nil)
	conflicts := 0
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts++
		return conflicts == 1, nil, conflict
	})
	require.NoError(t, w.passOverStaleCaches(), "the cache still shows all Pods at the old image")
	assert.Equal(t, 1, w.count("s", "s:2"), "the Pod was read again")
	assert.Equal(t, 1, conflicts, "and not written again")

	require.NoError(t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", fmt.Sprintf("web-%02d", upgraded)))
	w.settle()
	assert.Equal(t, [4]int32{2, 2, 2, 2}, w.counters(), "the upgrade goes on without the deleted Pod")
}

// The cache shows a Pod that is not ready, so it is chosen beyond maxUnavailable. On the server, it has become ready.
func TestPodThatBecameReadyCountsAgainstTheBound(t *testing.T) {
	w := newWorld(t)
	w.start(2)
	ready := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = status }
	}
	w.settle()
	w.change(w.Pods()[0], ready(corev1.ConditionFalse))
	w.edit(image("s:2"))
	w.Observe()
	w.change(w.Pods()[0], ready(corev1.ConditionTrue))
	conflicts := 0
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.PatchAction).GetName() != "web-00" {
			return false, nil, nil
		}
		conflicts++
		return conflicts == 1, nil, newConflict()
	})
	require.NoError(t, w.passOverStaleCaches())
	assert.Equal(t, 1, conflicts, "the Pod was read again")
	assert.Equal(t, []string{"s:1", "s:2"}, w.images("s"), "one ready Pod is upgraded")
	w.settle(w.bound(1))
	assert.Equal(t, 2, w.count("s", "s:2"))
}

// A write without an answer may have succeeded. The next pass reads the Pod before it decides.
func TestWriteWithoutAnAnswer(t *testing.T) {
	w := newWorld(t)
	w.start(2)
	w.settle()
	w.edit(image("s:2"))
	w.Observe()
	lost := 0
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if lost++; lost > 1 {
			return false, nil, nil
		}
		_, _, err := clienttesting.ObjectReaction(w.Kube.Tracker())(action)
		require.NoError(t, err)
		return true, nil, apierrors.NewInternalError(fmt.Errorf("the connection was lost"))
	})
	require.Error(t, w.passOverStaleCaches())
	w.Writes()
	require.NoError(t, w.passOverStaleCaches())
	assert.Empty(t, w.Writes(), "it only reads the Pod")
	assert.Equal(t, 1, w.count("s", "s:2"))
	w.settle(w.bound(1))
	assert.Equal(t, 2, w.count("s", "s:2"))
	for _, pod := range w.Pods() {
		assert.Equal(t, `True AllSidecarsetUpgradable {"logs":true}`, conditionOf(pod), pod.Name)
	}
}

// The queue must wait longer after each failure, and not call again at once.
func TestUnreadablePodAfterALostAnswerIsReadAgainWithPauses(t *testing.T) {
	w := newWorld(t)
	w.start(1)
	w.settle()
	w.edit(image("s:2"))
	w.Observe()
	for _, verb := range []string{"patch", "get"} {
		w.Kube.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewInternalError(fmt.Errorf("the connection was lost"))
		})
	}
	require.Error(t, w.passOverStaleCaches())
	result, err := w.r.Reconcile(t.Context(), w.set())
	require.Error(t, err)
	assert.Zero(t, result.RequeueAfter)
}

// A budget allows one Pod. The others are tried again, and nothing of them changes.
// Case sidecarset 46.
func TestBudgetRefusesSomePods(t *testing.T) {
	w := newWorld(t, maxUnavailable(intstr.FromString("100%")))
	w.node.Broken = func(image string) bool { return image == "s:bad" }
	w.start(3)
	w.settle()
	allowed := 1
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "" {
			return false, nil, nil
		}
		if allowed--; allowed >= 0 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "web", fmt.Errorf("no disruption left"))
	})
	w.edit(image("s:bad"))
	require.Error(t, w.tryPass())
	w.run()
	require.Error(t, w.tryPass())
	assert.Equal(t, [4]int32{3, 1, 2, 0}, w.counters())
	conditions := 0
	for _, pod := range w.Pods() {
		if conditionOf(pod) != "" {
			conditions++
		}
	}
	assert.Equal(t, 1, conditions, "a Pod whose write was refused has no condition")
	w.edit(image("s:2"))
	for range 10 {
		allowed = 1
		_ = w.tryPass()
		w.run()
		assert.GreaterOrEqual(t, w.set().Status.ReadyPods, int32(2))
	}
	w.pass()
	assert.Equal(t, [4]int32{3, 3, 3, 3}, w.counters())
}

// Case sidecarset 31.
func TestRecordsOfEarlyReleasesAreConverted(t *testing.T) {
	w := newWorld(t)
	set := w.set()
	w.start(1, func(pod *corev1.Pod) {
		for _, key := range []string{"kruise.io/sidecarset-hash", "kruise.io/sidecarset-hash-without-image"} {
			pod.Annotations[key] = `{"logs":"` + set.Annotations[key] + `","other":"x"}`
		}
	})
	w.settle()
	assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())
	w.edit(image("s:2"))
	w.settle()
	pod := w.Pods()[0]
	for _, key := range []string{"kruise.io/sidecarset-hash", "kruise.io/sidecarset-hash-without-image"} {
		records, err := sidecar.ReadRecords(pod.Annotations, key)
		require.NoError(t, err)
		assert.Equal(t, w.set().Annotations[key], records["logs"].Hash)
		assert.Equal(t, "x", records["other"].Hash)
		assert.Equal(t, []string{"s"}, records["logs"].SidecarList)
		assert.NotContains(t, pod.Annotations[key], `"logs":"`)
	}
}

// Case sidecarset 50.
func TestAnnotationsChangeWithTheUpgrade(t *testing.T) {
	merge := func(value string) func(*v1beta1.SidecarSet) {
		return func(set *v1beta1.SidecarSet) {
			set.Spec.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{
				{Annotations: map[string]string{"x/k": value}, PatchPolicy: v1beta1.SidecarSetMergePatchJSONPatchPolicy},
			}
		}
	}
	w := newWorld(t, merge(`{"c":1}`))
	w.start(1, func(pod *corev1.Pod) { pod.Annotations["x/k"] = `{"c":1}` })
	w.settle()
	w.edit(merge(`{"c":2}`))
	w.settle()
	assert.Equal(t, `{"c":1}`, w.Pods()[0].Annotations["x/k"])
	assert.Equal(t, [4]int32{1, 1, 1, 1}, w.counters())
	w.edit(image("s:2"))
	w.settle()
	assert.Equal(t, `{"c":2}`, w.Pods()[0].Annotations["x/k"])
}

// The record names the instance that the write ended, so the upgrade is complete when another one runs.
func TestUpgradeRecordsTheInstance(t *testing.T) {
	w := newWorld(t)
	w.start(1)
	w.settle()
	before := w.Pods()[0].Status.ContainerStatuses[1].ContainerID
	w.edit(image("s:2"))
	w.pass()
	pod := w.Pods()[0]
	assert.Contains(t, pod.Annotations["kruise.io/sidecarset-inplace-update-state"], before)
	assert.NotContains(t, pod.Annotations["kruise.io/sidecarset-inplace-update-state"], `"main"`)
	assert.Equal(t, [4]int32{1, 0, 1, 0}, w.counters(), "counted before the upgrade, in the same pass")
}

// The interval between two passes over a large SidecarSet grows with its Pods. A change by the user does not wait.
func TestPassesOverManyPodsAreSpaced(t *testing.T) {
	w := newWorld(t)
	w.start(60)
	w.pass()
	w.Observe()
	w.Writes()
	w.change(w.Pods()[0], func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	w.pass()
	assert.EqualValues(t, 60, w.set().Status.MatchedPods, "too soon")
	w.wait(time.Second)
	w.pass()
	assert.EqualValues(t, 59, w.set().Status.MatchedPods)
	w.edit(image("s:2"))
	w.pass()
	assert.Equal(t, 1, w.count("s", "s:2"))
}

// The first ready Pod that has to wait ends the walk: Pods behind it do not overtake it, even if they are not ready.
func TestPodsDoNotOvertakeOneThatWaits(t *testing.T) {
	w := newWorld(t, func(set *v1beta1.SidecarSet) {
		set.Spec.UpdateStrategy.PriorityStrategy = &pub.UpdatePriorityStrategy{WeightPriority: []pub.UpdatePriorityWeightTerm{
			{Weight: 1, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"first": "true"}}},
		}}
	})
	w.start(3, func(pod *corev1.Pod) {
		if pod.Name != "web-02" {
			pod.Labels["first"] = "true"
			return
		}
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
	})
	w.edit(image("s:2"))
	w.pass()
	assert.Equal(t, 1, w.count("s", "s:2"))
	assert.Equal(t, "s:1", w.images("s")[2])
}

// A Pod whose last upgrade the node has not noticed yet waits, as long as the container reports that it is ready.
func TestUpgradeInProgressIsAwaited(t *testing.T) {
	w := newWorld(t)
	w.start(1)
	w.settle()
	w.edit(image("s:2"))
	w.pass()
	w.edit(image("s:3"))
	w.pass()
	assert.Equal(t, []string{"s:2"}, w.images("s"))
	w.settle()
	assert.Equal(t, []string{"s:3"}, w.images("s"))
}
