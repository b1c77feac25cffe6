package daemonset

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/nodefit"
)

// Case daemonset 1: every node gets one Pod, with the labels, the owner and the node of the DaemonSet.
func TestEveryNodeGetsAPod(t *testing.T) {
	w := newWorld(t, "", append(nodes(3), newSet())...)
	w.settle()
	assert.Equal(t, []string{"n1", "n2", "n3"}, w.nodesWithPods())
	status := w.set().Status
	assert.EqualValues(t, 3, status.DesiredNumberScheduled)
	assert.EqualValues(t, 3, status.CurrentNumberScheduled)
	assert.EqualValues(t, 3, status.NumberReady)
	assert.EqualValues(t, 3, status.NumberAvailable)
	assert.EqualValues(t, 3, status.UpdatedNumberScheduled)
	assert.Zero(t, status.NumberUnavailable)
	assert.EqualValues(t, 1, status.ObservedGeneration)
	pod := w.on("n2")
	assert.Equal(t, map[string]string{"app": "web", "controller-revision-hash": status.UpdateRevision}, pod.Labels)
	assert.NotContains(t, status.UpdateRevision, "-", "the short hash")
	ref := metav1.GetControllerOf(pod)
	assert.Equal(t, "apps.kruise.io/v1beta1/DaemonSet/web", ref.APIVersion+"/"+ref.Kind+"/"+ref.Name)
	assert.Equal(t, "web-", pod.GenerateName)
	assert.Len(t, pod.Spec.Tolerations, 6)
	created := w.eventsLike("Normal SuccessfulCreate Created pod: web-")
	assert.Len(t, created, 3)
}

func TestPodsToleratePressureOfTheirNode(t *testing.T) {
	set := newSet(func(s *v1beta1.DaemonSetSpec) {
		s.Template.Spec.HostNetwork = true
		s.Template.Spec.Tolerations = []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(5))}, {Key: "mine"},
		}
	})
	w := newWorld(t, "", newNode("n1"), set)
	w.settle()
	tolerations := w.on("n1").Spec.Tolerations
	assert.Len(t, tolerations, 8, "six, one for the network, and the user's own")
	for _, toleration := range tolerations {
		assert.Nil(t, toleration.TolerationSeconds)
	}
	assert.Empty(t, set.Spec.Template.Spec.Tolerations[0].Value)
}

// Case daemonset 7: Pods follow nodes that come, are tainted, or change their labels.
func TestPodsFollowTheirNodes(t *testing.T) {
	w := rolled(t, "", newSet(selecting("blue", "1")), nil)
	assert.Empty(t, w.Pods())
	w.Add(newNode("n1", "blue=1"), newNode("n2", "blue=1"), newNode("n3"))
	w.settle()
	assert.Equal(t, []string{"n1", "n2"}, w.nodesWithPods())

	w.changeNode("n1", taint(corev1.TaintEffectNoExecute))
	w.settle()
	assert.Equal(t, []string{"n2"}, w.nodesWithPods())
	assert.EqualValues(t, 1, w.set().Status.DesiredNumberScheduled)

	w.changeNode("n2", label("blue", "2"))
	w.settle()
	assert.Empty(t, w.Pods())
}

// Case daemonset 8: a taint NoSchedule deletes no Pod, and creates none.
func TestNoScheduleLeavesRunningPods(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(2))
	pod := w.on("n1")
	w.changeNode("n1", taint(corev1.TaintEffectNoSchedule))
	w.settle()
	assert.Equal(t, pod.UID, w.on("n1").UID)
	status := w.set().Status
	assert.EqualValues(t, 1, status.NumberMisscheduled)
	assert.EqualValues(t, 1, status.DesiredNumberScheduled)
	w.lose(pod)
	w.settle()
	assert.Equal(t, []string{"n2"}, w.nodesWithPods())
}

// A cordoned node, and one that lost its kubelet, keep their Pods: Pods of a DaemonSet tolerate these taints.
func TestPodsStayOnNodesWithProblems(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(2))
	w.changeNode("n1", func(node *corev1.Node) {
		node.Spec.Unschedulable = true
		node.Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		}
	})
	w.lose(w.on("n1"))
	w.settle()
	assert.Equal(t, []string{"n1", "n2"}, w.nodesWithPods())
}

// Case daemonset 26: the node selector of the template follows a label of the node, and the other way.
func TestSelectorAndLabelDecideTogether(t *testing.T) {
	w := rolled(t, "", newSet(selecting("color", "blue")), nil)
	w.Add(newNode("n1", "color=blue"))
	w.settle()
	assert.Len(t, w.Pods(), 1)
	w.changeNode("n1", label("color", "green"))
	w.settle()
	assert.Empty(t, w.Pods())
	w.edit(selecting("color", "green"))
	w.settle()
	assert.Len(t, w.Pods(), 1)
}

// Case daemonset 9: failed Pods of a node are deleted with growing delays.
func TestFailedPodsAreReplacedWithBackoff(t *testing.T) {
	for name, strategy := range map[string]edit{"without surge": maxUnavailable("1"), "with surge": maxSurge("1")} {
		t.Run(name, func(t *testing.T) { testBackoff(t, strategy) })
	}
}

func testBackoff(t *testing.T, strategy edit) {
	t.Helper()
	w := rolled(t, "", newSet(strategy), nodes(1))
	for _, delay := range []time.Duration{0, 1, 2, 4, 8} {
		failed := w.on("n1")
		w.changePod(failed, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		w.settle()
		if delay > 0 {
			assert.Equal(t, failed.UID, w.on("n1").UID, "within its delay")
			assert.Equal(t, delay*time.Second, w.recheck)
			w.pass(delay*time.Second - time.Millisecond)
			w.settle()
			assert.Equal(t, failed.UID, w.on("n1").UID, "until the end of its delay")
			w.pass(time.Millisecond)
			w.settle()
		}
		assert.NotEqual(t, failed.UID, w.on("n1").UID, "after %v", delay)
		events := w.eventsLike("Warning FailedDaemonPod")
		assert.Equal(t, []string{"Warning FailedDaemonPod Found failed daemon pod ns/" + failed.Name + " on node n1, will try to kill it"}, events)
	}
	for range 12 {
		w.changePod(w.on("n1"), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		w.settle()
		w.pass(15 * time.Minute)
		w.settle()
	}
	w.changePod(w.on("n1"), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	w.settle()
	assert.Equal(t, 15*time.Minute, w.recheck)
}

// Case daemonset 25: a Pod that another client made fail is replaced in the next pass.
func TestFailedPodIsReplacedAtOnce(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(2))
	failed := w.on("n1")
	w.changePod(failed, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	w.step()
	assert.Equal(t, []string{"n2"}, w.nodesWithPods())
	w.settle()
	assert.Equal(t, []string{"n1", "n2"}, w.nodesWithPods())
}

func TestSucceededPodIsReplaced(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(1))
	ended := w.on("n1")
	w.changePod(ended, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	w.step()
	assert.Empty(t, w.Pods())
	assert.Len(t, w.eventsLike("Normal SucceededDaemonPod"), 1)
	w.settle()
	assert.NotEqual(t, ended.UID, w.on("n1").UID)
}

// Case daemonset 13: with partitioned scaling, as many nodes as the partition says get no Pod.
func TestPartitionLimitsCreations(t *testing.T) {
	partitioned := func(s *v1beta1.DaemonSetSpec) { s.ScaleStrategy.PartitionedScaling = true }
	w := newWorld(t, "", append(nodes(5), newSet(partitioned, partition("3")))...)
	w.settle()
	assert.Equal(t, []string{"n1", "n2"}, w.nodesWithPods())
	w.edit(partition("0"))
	w.settle()
	assert.Len(t, w.Pods(), 5)
}

// Case daemonset 14: burstReplicas limits what one pass creates and deletes.
func TestBurstLimitsAPass(t *testing.T) {
	for name, burst := range map[string]string{"number": "1", "small percentage": "10%"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", append(nodes(3), newSet(func(s *v1beta1.DaemonSetSpec) { s.BurstReplicas = amount(burst) }))...)
			for n := 1; n <= 3; n++ {
				w.step()
				require.Len(t, w.Pods(), n)
			}
			w.edit(selecting("no", "node"))
			for n := 2; n >= 0; n-- {
				w.step()
				require.Len(t, w.Pods(), n)
			}
		})
	}
}

// The back-off of a node begins when its failed Pod is deleted, not when it waits for a pass with room for the deletion.
// Cases daemonset 14, 25.
func TestBurstDelaysNoFailedPod(t *testing.T) {
	w := rolled(t, "", newSet(func(s *v1beta1.DaemonSetSpec) { s.BurstReplicas = amount("1") }), nodes(4))
	for _, node := range w.nodesWithPods() {
		w.changePod(w.on(node), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	}
	before := w.Clock.Now()
	w.settle()
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		assert.NotEqual(t, corev1.PodFailed, w.on(node).Status.Phase, node)
	}
	assert.Len(t, w.eventsLike("Warning FailedDaemonPod"), 4, "one for each Pod")
	assert.Less(t, w.Clock.Now().Sub(before), 2*time.Second)
}

// Case daemonset 15: a preDelete hook holds a Pod whose node is no longer selected.
func TestHookHoldsAPodOfALostNode(t *testing.T) {
	hooked := func(s *v1beta1.DaemonSetSpec) {
		s.Template.Labels["hook"] = "on"
		s.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}}}
	}
	w := rolled(t, "", newSet(hooked, selecting("blue", "1")), nil)
	w.Add(newNode("n1", "blue=1"))
	w.settle()
	w.changeNode("n1", label("blue", "2"))
	w.settle()
	held := w.on("n1")
	assert.Equal(t, "PreparingDelete", held.Labels[pub.LifecycleStateKey])
	w.changePod(held, func(pod *corev1.Pod) { delete(pod.Labels, "hook") })
	w.settle()
	assert.Empty(t, w.Pods())
}

// Case daemonset 19: a controller that restarts creates no second Pod, even if it did not see its first one.
func TestRestartedControllerCreatesNoSecondPod(t *testing.T) {
	w := newWorld(t, "", append(nodes(3), newSet())...)
	w.step()
	require.Len(t, w.Pods(), 3)
	restarted := *w.r
	restarted.engine.Forget("set")
	w.guard.Forget("set")
	_, err := w.Pass("ns", "web") // The caches do not show the Pods yet.
	require.NoError(t, err)
	assert.Equal(t, []string{"n1", "n2", "n3"}, w.nodesWithPods())
	w.settle()
	assert.Equal(t, []string{"n1", "n2", "n3"}, w.nodesWithPods())
}

// Clients wait for the name of a Pod to disappear.
// Case daemonset 32.
func TestReplacementHasAnotherName(t *testing.T) {
	for name, edits := range map[string][]edit{"without surge": nil, "with surge": {maxSurge("1")}} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(edits...), nodes(1))
			names := map[string]bool{}
			for _, end := range []func(pod *corev1.Pod){
				w.lose,
				func(pod *corev1.Pod) {
					w.changePod(pod, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
				},
				func(*corev1.Pod) { w.edit(image("app:2")) },
				func(*corev1.Pod) { w.edit(image("app:1")) },
			} {
				pod := w.on("n1")
				assert.False(t, names[pod.Name], pod.Name)
				names[pod.Name] = true
				end(pod)
				w.pass(time.Minute)
				w.settle()
				assert.NotEqual(t, pod.UID, w.on("n1").UID)
			}
			assert.False(t, names[w.on("n1").Name])
		})
	}
}

func TestSurplusPodOfANodeIsDeleted(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(1))
	first := w.on("n1")
	second := first.DeepCopy()
	second.Name, second.UID, second.ResourceVersion = "web-second", "second", ""
	second.CreationTimestamp = metav1.NewTime(first.CreationTimestamp.Add(time.Second))
	w.Add(second)
	w.settle()
	assert.Equal(t, first.UID, w.on("n1").UID)
}

// Terminating Pods are not deleted again, and their node gets no other Pod before they end.
func TestTerminatingPodHoldsItsNode(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(2))
	pod := w.on("n1")
	w.changePod(pod, func(pod *corev1.Pod) {
		pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: w.Clock.Now()}, []string{"a/b"}
	})
	for _, write := range w.settle() {
		assert.False(t, strings.HasPrefix(write, "create pods") || strings.HasPrefix(write, "delete pods"), write)
	}
	w.lose(pod)
	w.settle()
	assert.NotEqual(t, pod.UID, w.on("n1").UID)
}

// A Pod that has ended serves nobody, whatever a finalizer waits for.
func TestEndedPodThatAFinalizerKeepsDoesNotHoldItsNode(t *testing.T) {
	for name, edits := range map[string][]edit{"without surge": nil, "with surge": {maxSurge("1")}} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(edits...), nodes(1))
			kept := w.on("n1")
			w.changePod(kept, func(p *corev1.Pod) {
				p.CreationTimestamp = metav1.NewTime(w.Clock.Now().Add(-time.Minute))
				p.DeletionTimestamp, p.Finalizers, p.Status.Phase = &metav1.Time{Time: w.Clock.Now()}, []string{"example.com/keep"}, corev1.PodFailed
			})
			w.settle()
			var running []string
			for _, pod := range w.Pods() {
				if pod.DeletionTimestamp == nil {
					running = append(running, pod.Name)
				}
			}
			require.Len(t, running, 1)
			assert.NotEqual(t, kept.Name, running[0])
			assert.Equal(t, int32(1), w.set().Status.NumberReady)
		})
	}
}

func TestUnscheduledPodOfALostNodeIsDeleted(t *testing.T) {
	w := newWorld(t, "", append(nodes(2), newSet())...)
	w.step()
	require.Len(t, w.Pods(), 2)
	require.NoError(t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "n1"))
	w.Settle(w.step)
	assert.Equal(t, []string{"n2"}, w.nodesWithPods())
	assert.EqualValues(t, 1, w.set().Status.DesiredNumberScheduled)
}

func TestPodsCanBeBoundWithoutTheScheduler(t *testing.T) {
	w := newWorld(t, "", append(nodes(1), newSet())...)
	w.r.settings.bindPods = true
	w.step()
	pod := w.on("n1")
	assert.Equal(t, "n1", pod.Spec.NodeName)
	assert.Equal(t, "kubernetes.io/daemonset-controller", pod.Spec.SchedulerName)
	assert.Nil(t, pod.Spec.Affinity)
}

func TestSetBeingDeletedIsLeftAlone(t *testing.T) {
	set := newSet()
	set.DeletionTimestamp, set.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"foregroundDeletion"}
	w := newWorld(t, "", append(nodes(2), set)...)
	assert.Empty(t, w.settle())
}

// A Pod that a user takes out by its labels keeps its name. Its node gets another Pod.
func TestReleasedPodIsReplaced(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(1))
	released := w.on("n1")
	w.changePod(released, func(pod *corev1.Pod) { delete(pod.Labels, "app") })
	w.settle()
	assert.Empty(t, w.eventsLike("Warning"), "its name is not tried")
	require.Len(t, w.Pods(), 2)
	for _, pod := range w.Pods() {
		assert.Equal(t, pod.Name != released.Name, metav1.GetControllerOf(pod) != nil, pod.Name)
	}
	assert.EqualValues(t, 1, w.set().Status.CurrentNumberScheduled)
}

func TestOrphansAreAdopted(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(2))
	before := w.on("n1").UID
	for _, pod := range w.Pods() {
		w.changePod(pod, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
	}
	list, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	list.Items[0].OwnerReferences = nil
	w.Update(&list.Items[0])
	require.NoError(t, w.Kruise.Tracker().Delete(daemonsets, "ns", "web"))
	again := newSet()
	again.UID = "again"
	w.Add(again)
	w.Writes()
	writes := w.settle()
	assert.NotContains(t, writes, "create pods", "no node gets a second Pod")
	assert.Equal(t, before, w.on("n1").UID, "the same Pod")
	assert.EqualValues(t, "again", metav1.GetControllerOf(w.on("n1")).UID)
	list, err = w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1, "the same revision")
	assert.EqualValues(t, "again", metav1.GetControllerOf(&list.Items[0]).UID)
}

func TestNodeConcernsItsSetsAlone(t *testing.T) {
	set := newSet(selecting("blue", "1"), rolling(func(r *v1beta1.RollingUpdateDaemonSet) {
		r.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}}
	}))
	heartbeat := newNode("n", "blue=1")
	heartbeat.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	tainted := newNode("n", "blue=1")
	taint(corev1.TaintEffectNoSchedule)(tainted)
	for name, test := range map[string]struct {
		before, after *corev1.Node
		want          bool
	}{
		"new node":          {nil, newNode("n", "blue=1"), true},
		"another new node":  {nil, newNode("n"), false},
		"node deleted":      {newNode("n", "blue=1"), nil, true},
		"another label":     {newNode("n", "blue=1"), newNode("n", "blue=1", "x=y"), false},
		"its label":         {newNode("n"), newNode("n", "blue=1"), true},
		"taint":             {newNode("n", "blue=1"), tainted, true},
		"taint erased":      {tainted, newNode("n", "blue=1"), true},
		"canary":            {newNode("n", "blue=1"), newNode("n", "blue=1", "canary=yes"), true},
		"change to nothing": {newNode("n", "blue=1"), heartbeat, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, concerns(set, test.before, test.after)) })
	}
	assert.True(t, nodefit.Same(newNode("n", "blue=1"), heartbeat))
}

// Creations stop at the first failure. A node whose Pods are always refused does not keep the other nodes empty, or at the old revision.
func TestNodeWhosePodsAreRefusedHoldsBackNoOther(t *testing.T) {
	passes := func(w *world, done func() bool) {
		for range 200 {
			if done() {
				return
			}
			w.Observe()
			_, _ = w.Pass("ns", "web") // It fails if the refused Pod was among the first ones.
			w.kubelet()
		}
		assert.Fail(t, "the other nodes wait for the one whose Pods are refused")
	}
	w := newWorld(t, "", append(nodes(5), newSet())...)
	refusePods(w, "n1")
	passes(w, func() bool { return slices.Equal([]string{"n2", "n3", "n4", "n5"}, w.nodesWithPods()) })

	w = rolled(t, "", newSet(maxSurge("1")), nodes(5))
	refusePods(w, "n1")
	w.edit(image("app:2"))
	passes(w, func() bool { return w.set().Status.UpdatedNumberScheduled == 4 })
	assert.Equal(t, "app:1", w.on("n1").Spec.Containers[0].Image, "the old Pod stays")
}
