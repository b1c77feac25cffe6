package workloadspread

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	lru "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/intstr"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/kinds"
)

// Cases workloadspread 1, 2.
func TestPodsAreCountedAndOrderedForScaleIn(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(8, []v1beta1.WorkloadSpreadSubset{limited("a", 2), limited("b", 3), open("c")})
	w.pods("a", 2)
	w.pods("b", 3)
	w.pods("c", 3)
	w.Add(pod("failed", "a", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }))
	status := w.settle()
	assert.Equal(t, []string{"a 2 0", "b 3 0", "c 3 -1"}, rooms(status))
	assert.EqualValues(t, 1, status.ObservedGeneration)
	assert.Equal(t, map[string]string{
		"a-0": "a 300", "a-1": "a 300", "b-0": "b 200", "b-1": "b 200", "b-2": "b 200", "c-0": "c 100", "c-1": "c 100", "c-2": "c 100",
		"failed": "a ",
	}, w.placed())
	assert.Empty(t, w.Converge("ns", "ws"), "nothing is written twice")
}

// Cases workloadspread 17, 21.
func TestSurplusPodsAreRemovedFirst(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(6, []v1beta1.WorkloadSpreadSubset{limited("a", 3), limited("b", 3)})
	w.pods("a", 2)
	w.pods("b", 3)
	w.Add(pod("a-2", "a", func(pod *corev1.Pod) { pod.Status.Conditions = nil }))
	w.settle()
	w.change(func(object *v1beta1.WorkloadSpread) {
		object.Spec.Subsets = []v1beta1.WorkloadSpreadSubset{limited("a", 2), limited("b", 2)}
	})
	status := w.settle()
	assert.EqualValues(t, 2, status.ObservedGeneration)
	placed := w.placed()
	assert.Equal(t, "a -100", placed["a-2"], "the Pod that is not ready is surplus")
	assert.Equal(t, "a 200", placed["a-0"])
	assert.ElementsMatch(t, []string{"b 100", "b 100", "b -200"}, []string{placed["b-0"], placed["b-1"], placed["b-2"]})
	assert.Equal(t, []string{"a 3 0", "b 3 0"}, rooms(status))
}

// Case workloadspread 13.
func TestPodsThatExistedBeforeAreAssignedByTheirNodes(t *testing.T) {
	patched := func(subset v1beta1.WorkloadSpreadSubset) v1beta1.WorkloadSpreadSubset {
		subset.Patch = &runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"subset":"x"},"annotations":{"note":"y"}},"spec":{"hostNetwork":true}}`)}
		return subset
	}
	before := func(node string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.CreationTimestamp = node, metav1.NewTime(controllertest.Now.Add(-time.Hour))
		}
	}
	for name, tc := range map[string]struct {
		annotations map[string]string
		label       string
	}{
		"metadata is copied":     {label: "x"},
		"metadata is left alone": {annotations: map[string]string{pub.IgnorePatchExistingPodsMetadataKey: "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ofCloneSet(4, []v1beta1.WorkloadSpreadSubset{inZone(limited("a", 1), "a"), patched(inZone(open("b"), "b"))},
				func(object *v1beta1.WorkloadSpread) { object.Annotations = tc.annotations })
			w.Add(pod("one", "", before("node-a")), pod("two", "", before("node-a")), pod("three", "", before("node-b")), pod("four", "", before("")),
				pod("five", "", before("gone")))
			status := w.settle()
			assert.Equal(t, []string{"a 2 0", "b 1 -1"}, rooms(status))
			placed := w.placed()
			assert.ElementsMatch(t, []string{"a 200", "a -100"}, []string{placed["one"], placed["two"]})
			assert.Equal(t, "b 100", placed["three"])
			assert.Equal(t, " ", placed["four"], "a Pod without a node is not assigned")
			three, err := w.Kube.CoreV1().Pods("ns").Get(t.Context(), "three", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, tc.label, three.Labels["subset"])
			assert.False(t, three.Spec.HostNetwork)
		})
	}
}

// Case workloadspread 22.
func TestPodsOfARemovedSubsetAreRemovedFirst(t *testing.T) {
	w := newWorld(t)
	prefers := func(name, zone string) v1beta1.WorkloadSpreadSubset {
		subset := open(name)
		subset.PreferredNodeSelector = []corev1.PreferredSchedulingTerm{{Weight: 10, Preference: *inZone(subset, zone).RequiredNodeSelector}}
		return subset
	}
	w.ofCloneSet(2, []v1beta1.WorkloadSpreadSubset{prefers("a", "a"), prefers("b", "b")})
	old := func(node string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.CreationTimestamp = node, metav1.NewTime(controllertest.Now.Add(-time.Hour))
		}
	}
	w.Add(pod("one", "", old("node-a")), pod("two", "", old("node-b")))
	w.settle()
	assert.Equal(t, map[string]string{"one": "a 200", "two": "b 100"}, w.placed())
	w.change(func(object *v1beta1.WorkloadSpread) { object.Spec.Subsets = object.Spec.Subsets[:1] })
	assert.Equal(t, []string{"a 1 -1"}, rooms(w.settle()))
	assert.Equal(t, map[string]string{"one": "a 100", "two": "b -200"}, w.placed())
}

// Case workloadspread 20.
func TestPodsThatFoundNoSlotAreLeftAloneWhileAllSubsetsAreFull(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(6, []v1beta1.WorkloadSpreadSubset{limited("a", 2)})
	w.pods("a", 2)
	w.pods("", 4)
	assert.Equal(t, []string{"a 2 0"}, rooms(w.settle()))
	assert.Equal(t, map[string]string{"a-0": "a 100", "a-1": "a 100", "-0": " ", "-1": " ", "-2": " ", "-3": " "}, w.placed())
	full := "Warning SubsetsFull All subsets are full: 4 of 6 Pods are created without a subset"
	assert.Equal(t, []string{full}, w.Events())
	w.Add(pod("late", ""))
	w.settle()
	assert.Empty(t, w.Events(), "it is told once")
}

// A client that sees a Pod in the status can rely on its cost.
func TestPodIsCountedAfterItsCostIsWritten(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(2, []v1beta1.WorkloadSpreadSubset{limited("a", 2)})
	w.pods("a", 1)
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return false, nil, w.r.pods.Add(pod("late", "a"))
	})
	w.Step("ns", "ws")
	assert.Equal(t, []string{"a 1 1"}, rooms(&w.get().Status))
	assert.Equal(t, "a 100", w.placed()["a-0"])
}

// A Pod that cannot be written delays the generation, and not the slots of other Pods.
func TestSlotsAreRecountedAlthoughAPodCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(2, []v1beta1.WorkloadSpreadSubset{limited("a", 2)})
	w.pods("a", 2)
	refused := true
	w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.PatchAction).GetName()
		return refused && name == "a-0", nil, apierrors.NewForbidden(corev1.Resource("pods"), name, errors.New("a policy"))
	})
	w.Observe()
	_, err := w.Pass("ns", "ws")
	require.ErrorContains(t, err, "a policy")
	assert.Equal(t, []string{"a 2 0"}, rooms(&w.get().Status))
	assert.Zero(t, w.get().Status.ObservedGeneration)
	assert.Contains(t, w.Events()[0], "Warning PatchPodDeletionCostFailed Pod a-0 was not updated")
	refused = false
	assert.EqualValues(t, 1, w.settle().ObservedGeneration)
}

// A Pod that was created while admission was not available is assigned to a free slot only.
func TestPodsThatWereNotInjectedFillFreeSlots(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(3, []v1beta1.WorkloadSpreadSubset{inZone(limited("a", 1), "a"), inZone(limited("b", 1), "b")})
	w.pods("", 3)
	assert.Equal(t, []string{"a 1 0", "b 0 1"}, rooms(w.settle()))
	assert.Equal(t, map[string]string{"-0": "a 200", "-1": " ", "-2": " "}, w.placed())
}

// Cases workloadspread 7, 16.
func TestSlotsEndWhenTheirPodsAppearOrExpire(t *testing.T) {
	w := newWorld(t)
	at := metav1.NewTime(controllertest.Now)
	w.ofCloneSet(5, []v1beta1.WorkloadSpreadSubset{limited("a", 5)}, func(object *v1beta1.WorkloadSpread) {
		all := v1beta1.WorkloadSpreadSubsetStatuses{{
			Name: "a", Replicas: 1, MissingReplicas: 2, CreatingPods: map[string]metav1.Time{"uid-1": at, "a-1": at, "refused": at},
			DeletingPods: map[string]metav1.Time{"a-0": at, "gone": at},
		}}
		object.Status = v1beta1.WorkloadSpreadStatus{
			SubsetStatuses: all, VersionedSubsetStatuses: map[string]v1beta1.WorkloadSpreadSubsetStatuses{"versionIgnored": all},
		}
	})
	w.pods("a", 2)
	w.Add(pod("generated", "a", func(pod *corev1.Pod) {
		pod.Annotations[pub.MatchedWorkloadSpreadKey] = `{"name":"ws","subset":"a","uid":"uid-1"}`
	}))
	status := w.settle()
	assert.Equal(t, map[string]metav1.Time{"refused": at}, status.SubsetStatuses[0].CreatingPods)
	assert.Equal(t, map[string]metav1.Time{"a-0": at}, status.SubsetStatuses[0].DeletingPods)
	assert.Equal(t, []string{"a 3 2"}, rooms(status))
	assert.Equal(t, 15*time.Second, w.Step("ns", "ws"))
	w.Clock.SetTime(controllertest.Now.Add(15 * time.Second))
	assert.Equal(t, []string{"a 3 1"}, rooms(w.settle()))
	w.Clock.SetTime(controllertest.Now.Add(30 * time.Second))
	assert.Equal(t, []string{"a 3 2"}, rooms(w.settle()))
	assert.Equal(t, []string{
		"Warning DeletePodFailed Pod ns/a-0 in subset a was expected to be deleted but it wasn't",
		"Warning CreatePodFailed Pod ns/refused in subset a was expected to be created but it wasn't",
	}, w.Events())
}

// The writes of a pass can take longer than a slot lasts. The list of Pods from before them does not end the slot of a Pod that has come
// since: another Pod would get the slot, too.
func TestSlowWritesEndNoSlot(t *testing.T) {
	w := newWorld(t)
	at := metav1.NewTime(controllertest.Now)
	w.ofCloneSet(3, []v1beta1.WorkloadSpreadSubset{limited("a", 3)}, func(object *v1beta1.WorkloadSpread) {
		all := v1beta1.WorkloadSpreadSubsetStatuses{{Name: "a", MissingReplicas: 2, CreatingPods: map[string]metav1.Time{"new": at}}}
		object.Status = v1beta1.WorkloadSpreadStatus{
			SubsetStatuses: all, VersionedSubsetStatuses: map[string]v1beta1.WorkloadSpreadSubsetStatuses{"versionIgnored": all},
		}
	})
	w.pods("a", 2)
	slow := 0
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if slow++; slow == 1 {
			w.Clock.SetTime(controllertest.Now.Add(31 * time.Second))
			w.Add(pod("new", "a"))
			w.Observe()
		}
		return false, nil, nil
	})
	w.Step("ns", "ws")
	require.NotZero(t, slow)
	assert.Equal(t, []string{"a 3 0"}, rooms(&w.get().Status))
	assert.Empty(t, w.Events())
}

// waiting makes a Pod one without a node.
func waiting(pod *corev1.Pod) {
	pod.Spec.NodeName = ""
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(controllertest.Now),
	}}}
}

// adaptive moves a Pod to the next subset after 30 s without a node.
func adaptive(object *v1beta1.WorkloadSpread) {
	object.Spec.ScheduleStrategy = v1beta1.WorkloadSpreadScheduleStrategy{
		Type: "Adaptive", Adaptive: &v1beta1.AdaptiveWorkloadSpreadStrategy{RescheduleCriticalSeconds: new(int32(30))},
	}
}

// Case workloadspread 10.
func TestPodsWithoutANodeMoveToTheNextSubset(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(2, []v1beta1.WorkloadSpreadSubset{limited("a", 2), open("b")}, adaptive)
	w.pods("a", 1, waiting)
	w.pods("b", 1, waiting)
	condition := func(status *v1beta1.WorkloadSpreadStatus, subset int) string {
		require.Len(t, status.SubsetStatuses[subset].Conditions, 1)
		c := status.SubsetStatuses[subset].Conditions[0]
		return string(c.Status) + " " + c.Reason
	}
	assert.Equal(t, "True Sufficient", condition(w.settle(), 0))
	assert.Equal(t, 30*time.Second, w.Step("ns", "ws"))
	w.Clock.SetTime(controllertest.Now.Add(30 * time.Second))
	status := w.settle()
	assert.Equal(t, "False PodUnschedulable", condition(status, 0))
	assert.Equal(t, "True Sufficient", condition(status, 1))
	assert.NotContains(t, w.placed(), "a-0")
	assert.Contains(t, w.placed(), "b-0", "the last subset keeps its Pods")
	assert.Equal(t, 5*time.Minute, w.Step("ns", "ws"))
	w.Clock.SetTime(controllertest.Now.Add(30*time.Second + 5*time.Minute))
	assert.Equal(t, "True Sufficient", condition(w.settle(), 0))
	assert.Equal(t, []string{"Normal RecoverSchedulable Subset a is tried again"}, w.Events())
	w.change(func(object *v1beta1.WorkloadSpread) {
		object.Spec.ScheduleStrategy = v1beta1.WorkloadSpreadScheduleStrategy{}
	})
	assert.Empty(t, w.settle().SubsetStatuses[0].Conditions)
}

// gotANode is Pod a-0 after the scheduler has found a node.
func gotANode() *corev1.Pod {
	return pod("a-0", "a", func(pod *corev1.Pod) { pod.ResourceVersion = "2" })
}

func TestPodThatGotANodeBeforeItsDeletionStays(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(2, []v1beta1.WorkloadSpreadSubset{limited("a", 2), open("b")}, adaptive)
	w.pods("a", 1, waiting, func(pod *corev1.Pod) { pod.ResourceVersion = "1" })
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(30 * time.Second))
	w.Kube.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.Update(gotANode())
		// As a server does it.
		wanted := action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions.ResourceVersion
		if wanted != nil && *wanted != gotANode().ResourceVersion {
			return true, nil, apierrors.NewConflict(corev1.Resource("pods"), "a-0", nil)
		}
		return false, nil, nil
	})
	w.Step("ns", "ws")
	assert.Contains(t, w.placed(), "a-0")
}

// The scheduler writes a new message, for example. No event of such a change starts a pass.
func TestPodThatChangedBeforeItsDeletionIsDeletedSoon(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(2, []v1beta1.WorkloadSpreadSubset{limited("a", 2), open("b")}, adaptive)
	w.pods("a", 1, waiting)
	w.settle()
	w.Clock.SetTime(controllertest.Now.Add(30 * time.Second))
	conflicts := 1
	w.Kube.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(corev1.Resource("pods"), "a-0", nil)
	})
	assert.Equal(t, time.Second, w.Step("ns", "ws"))
	assert.Contains(t, w.placed(), "a-0")
	assert.Equal(t, 5*time.Minute, w.Step("ns", "ws"))
	assert.NotContains(t, w.placed(), "a-0")
}

// The writes of a pass can take so long that the scheduler finds a node meanwhile.
func TestPodThatGotANodeDuringSlowWritesStays(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(3, []v1beta1.WorkloadSpreadSubset{limited("a", 3), open("b")}, adaptive)
	w.pods("a", 1, waiting)
	w.settle()
	// Pods without a cost are written.
	w.Add(pod("a-1", "a"), pod("a-2", "a"))
	w.Clock.SetTime(controllertest.Now.Add(31 * time.Second))
	w.Kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		w.Clock.SetTime(w.Clock.Now().Add(2 * time.Second))
		w.Update(gotANode())
		w.Observe()
		return false, nil, nil
	})
	w.Kube.ClearActions()
	w.Step("ns", "ws")
	for _, action := range w.Kube.Actions() {
		assert.NotEqual(t, "delete", action.GetVerb())
	}
	assert.Equal(t, corev1.ConditionTrue, w.get().Status.SubsetStatuses[0].Conditions[0].Status)
}

// Case workloadspread 15.
func TestEachRevisionOfADeploymentIsCountedByItself(t *testing.T) {
	w := newWorld(t)
	w.Add(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3))}},
		replicaSet("web-1", "1", "1"), replicaSet("web-2", "2", "2"))
	w.spread("apps/v1", "Deployment", []v1beta1.WorkloadSpreadSubset{limited("a", 2), open("b")})
	of := func(set, hash string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.OwnerReferences[0].UID = types.UID(set)
			pod.Labels["pod-template-hash"] = hash
		}
	}
	w.Add(pod("old-a", "a", of("web-1", "1")), pod("old-a2", "a", of("web-1", "1")), pod("old-b", "b", of("web-1", "1")), pod("new-a", "a", of("web-2", "2")))
	status := w.settle()
	assert.Equal(t, []string{"a 3 1", "b 1 -1"}, rooms(status), "free slots are those of the newest revision")
	assert.Zero(t, status.VersionedSubsetStatuses["1"][0].MissingReplicas)
	assert.Equal(t, map[string]string{"old-a": "a 100", "old-a2": "a 100", "old-b": "b 200", "new-a": "a 200"}, w.placed())
}

func TestPercentagesFollowTheReplicas(t *testing.T) {
	w := newWorld(t)
	percent := func(name, value string) v1beta1.WorkloadSpreadSubset {
		return v1beta1.WorkloadSpreadSubset{Name: name, MaxReplicas: new(intstr.FromString(value))}
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}, Spec: batchv1.JobSpec{Parallelism: new(int32(10))}}
	w.Add(job)
	w.spread("batch/v1", "Job", []v1beta1.WorkloadSpreadSubset{percent("a", "30%"), percent("b", "70%")})
	w.pods("a", 1)
	assert.Equal(t, []string{"a 1 2", "b 0 7"}, rooms(w.settle()))
	assert.Equal(t, map[string]string{"a-0": "a "}, w.placed(), "Pods of a Job have no cost")
	job.Spec.Parallelism = nil
	w.Update(job)
	assert.Equal(t, []string{"a 1 0", "b 0 1"}, rooms(w.settle()))
}

func TestMissingTargetHasNoPods(t *testing.T) {
	w := newWorld(t)
	w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{limited("a", 2), open("b")})
	w.pods("a", 1)
	status := w.settle()
	assert.Equal(t, []string{"a 0 2", "b 0 -1"}, rooms(status))
	assert.Empty(t, status.VersionedSubsetStatuses)
	assert.EqualValues(t, 1, status.ObservedGeneration)
}

// Case workloadspread 24.
func TestPodsOfACustomWorkloadAreCounted(t *testing.T) {
	w := newWorld(t)
	games := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "games"}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Game", "metadata": map[string]any{"namespace": "ns", "name": "web", "uid": "web"},
		"spec": map[string]any{"roles": []any{map[string]any{"replicas": int64(4)}}},
	}}
	w.r.custom.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{games: "GameList"}, object)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{games.GroupVersion()})
	mapper.Add(games.GroupVersion().WithKind("Game"), meta.RESTScopeNamespace)
	w.r.custom.Mapper = mapper
	w.Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: controllertest.SystemNamespace, Name: pub.ConfigurationName},
		Data: map[string]string{pub.WorkloadSpreadWorkloadsKey: `{"workloads":[{"Group":"example.com","version":"v9","kind":"Game",` +
			`"replicasPath":"spec.roles.0.replicas"}]}`},
	})
	w.spread("example.com/v2", "Game", []v1beta1.WorkloadSpreadSubset{{Name: "a", MaxReplicas: new(intstr.FromString("50%"))}, open("b")},
		func(object *v1beta1.WorkloadSpread) {
			object.Spec.TargetFilter = &v1beta1.TargetFilter{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "main"}}}
		})
	main := func(pod *corev1.Pod) { pod.Labels["role"] = "main" }
	w.pods("a", 1, main)
	w.Add(pod("other", "a"))
	assert.Equal(t, []string{"a 1 1", "b 0 -1"}, rooms(w.settle()))
	assert.Equal(t, 15*time.Second, w.Step("ns", "ws"), "nothing says when the workload changes")
	w.change(func(object *v1beta1.WorkloadSpread) {
		object.Spec.TargetFilter.ReplicasPathList = []string{"spec.roles.7.replicas"}
	})
	assert.Equal(t, []string{"a 1 0", "b 0 -1"}, rooms(w.settle()), "a path that leads nowhere counts zero")
}

// A server that does not answer does not mean that no Pods are wanted. The status stays as it was counted before.
// Case workloadspread 24a.
func TestStatusStaysWhileTheTargetCannotBeRead(t *testing.T) {
	noKind := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Game"}}
	for name, test := range map[string]struct {
		subresource, list string
		err               error
		// event is part of the event, or empty if the pass fails and is tried again soon.
		event string
	}{
		"the scale":              {subresource: "scale", err: apierrors.NewServiceUnavailable("no endpoints")},
		"the target":             {err: apierrors.NewInternalError(errors.New("conversion failed"))},
		"the kind is not served": {err: noKind, event: "no matches for kind"},
		"the list has a mistake": {list: "{", event: "key WorkloadSpread_Watch_Custom_Workload_WhiteList of ConfigMap kruise-system/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			client := w.ofGame(4)
			w.teamPod("a-0")
			require.Equal(t, []string{"a 1 1", "b 0 -1"}, rooms(w.settle()))
			w.Events()
			if test.list != "" {
				_, err := w.Kube.CoreV1().ConfigMaps(controllertest.SystemNamespace).Update(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: controllertest.SystemNamespace, Name: pub.ConfigurationName},
					Data:       map[string]string{pub.WorkloadSpreadWorkloadsKey: test.list},
				}, metav1.UpdateOptions{})
				require.NoError(t, err)
			} else {
				client.PrependReactor("get", "games", func(action clienttesting.Action) (bool, runtime.Object, error) {
					return action.GetSubresource() == test.subresource, nil, test.err
				})
			}
			w.teamPod("a-1")
			w.Observe()
			result, err := w.Pass("ns", "ws")
			assert.Equal(t, test.event == "", err != nil, "%v", err)
			assert.Equal(t, []string{"a 1 1", "b 0 -1"}, rooms(&w.get().Status))
			if test.event != "" {
				assert.Contains(t, strings.Join(w.Events(), "\n"), test.event)
				assert.Equal(t, 15*time.Second, result.RequeueAfter)
			}
		})
	}
}

// Case workloadspread 25.
// The status stays as it was counted before. Without the scale, the target wants no Pods.
func TestUnreadableWorkloadIsReportedWhenItBegins(t *testing.T) {
	const (
		notCounted = "its Pods are not assigned to subsets, and the status is not updated"
		noReplicas = "its replicas count as 0"
	)
	for name, test := range map[string]struct {
		resource, subresource, kind, effect string
		want                                []string
	}{
		"the target":           {"games", "", "Game", notCounted, []string{"a 1 1", "b 0 -1"}},
		"the scale":            {"games", "scale", "Game", noReplicas, []string{"a 2 0", "b 0 -1"}},
		"an owner of its Pods": {"teams", "", "Team", notCounted, []string{"a 1 1", "b 0 -1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			client := w.ofGame(4)
			w.teamPod("a-0")
			require.Equal(t, []string{"a 1 1", "b 0 -1"}, rooms(w.settle()))
			readable := client.ReactionChain
			refuse := func() {
				client.PrependReactor("get", test.resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
					return action.GetSubresource() == test.subresource, nil,
						apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: test.resource}, "web", nil)
				})
				// The controller of an owner is remembered for a while.
				w.r.above = lru.NewLRUExpireCacheWithClock(ownersKept, w.Clock)
			}
			refuse()
			w.teamPod("a-1")
			assert.Equal(t, test.want, rooms(w.settle()))
			resource := test.resource + ".example.com"
			event := "Warning WorkloadNotReadable The controllers may not read " + test.kind + ".example.com or its scale, so " + test.effect +
				"; grant the verb get on " + resource + " and " + resource + `/scale by a ClusterRole with the label ` +
				`rbac.kruise.io/aggregate-to-workloads: "true"`
			assert.Equal(t, []string{event}, w.Events(), "once is enough")
			assert.Equal(t, 15*time.Second, w.Step("ns", "ws"), "the permission may be granted")

			client.ReactionChain = readable
			assert.Equal(t, []string{"a 2 0", "b 0 -1"}, rooms(w.settle()), "the permission was granted")
			refuse()
			w.settle()
			assert.Equal(t, []string{event}, w.Events(), "it was revoked")
		})
	}
}

// Pods and ReplicaSets that are kept by --cascade=orphan belong to a workload again when it adopts them, and do not when it releases them.
func TestAdoptionsAndReleasesAreCounted(t *testing.T) {
	orphan := func(object metav1.Object) { object.SetOwnerReferences(nil) }
	t.Run("a Pod", func(t *testing.T) {
		w := newWorld(t)
		w.ofCloneSet(2, []v1beta1.WorkloadSpreadSubset{limited("a", 2)})
		kept, owned := pod("a-0", "a", func(pod *corev1.Pod) { orphan(pod) }), pod("a-0", "a")
		w.Add(kept)
		assert.Equal(t, []string{"a 0 2"}, rooms(w.settle()))
		w.follow(owned, w.r.podChanged(kept, owned))
		assert.Equal(t, []string{"a 1 1"}, rooms(&w.get().Status))
		w.follow(kept, w.r.podChanged(owned, kept))
		assert.Equal(t, []string{"a 0 2"}, rooms(&w.get().Status))
	})
	t.Run("a ReplicaSet", func(t *testing.T) {
		w := newWorld(t)
		w.Add(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))},
		})
		w.spread("apps/v1", "Deployment", []v1beta1.WorkloadSpreadSubset{limited("a", 2)})
		kept, owned := replicaSet("set", "1", "1"), replicaSet("set", "1", "1")
		orphan(kept)
		w.Add(kept, pod("a-0", "a", func(pod *corev1.Pod) {
			pod.Labels["pod-template-hash"] = "1"
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(kept, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		}))
		changed := w.r.workloadChanged(kinds.ReplicaSet)
		w.settle()
		w.follow(owned, changed(kept, owned))
		assert.Equal(t, []string{"a 1 1"}, rooms(&w.get().Status))
		w.follow(kept, changed(owned, kept))
		assert.NotEqual(t, []string{"a 1 1"}, rooms(&w.get().Status))
	})
}

// A Pod counts only while the filter selects its labels.
func TestLabelsOfAPodThatMatterCauseAPass(t *testing.T) {
	main := func(object *v1beta1.WorkloadSpread) {
		object.Spec.TargetFilter = &v1beta1.TargetFilter{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "main"}}}
	}
	with := func(key, value string) *corev1.Pod {
		return pod("a-0", "a", func(pod *corev1.Pod) { pod.Labels["role"], pod.Labels[key] = "main", value })
	}
	w := newWorld(t)
	w.ofCloneSet(1, []v1beta1.WorkloadSpreadSubset{limited("a", 2)}, main)
	w.Add(with("role", "main"))
	assert.Equal(t, []string{"a 1 1"}, rooms(w.settle()))
	assert.Empty(t, w.r.podChanged(with("role", "main"), with("state", "Updating")), "the filter does not read the label")
	w.follow(with("role", "other"), w.r.podChanged(with("role", "main"), with("role", "other")))
	assert.Equal(t, []string{"a 0 2"}, rooms(&w.get().Status))
	w.follow(with("role", "main"), w.r.podChanged(with("role", "other"), with("role", "main")))
	assert.Equal(t, []string{"a 1 1"}, rooms(&w.get().Status))

	w = newWorld(t)
	w.Add(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}})
	w.spread("apps/v1", "Deployment", []v1beta1.WorkloadSpreadSubset{limited("a", 2)})
	w.Observe()
	assert.Contains(t, w.r.podChanged(with("pod-template-hash", "1"), with("pod-template-hash", "2")),
		types.NamespacedName{Namespace: "ns", Name: "ws"}, "a Pod of another version")
}

func TestPodIsAssignedOnceItsNodeIsKnown(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(1, []v1beta1.WorkloadSpreadSubset{inZone(open("a"), "a"), inZone(open("c"), "c")})
	w.Add(pod("web-0", "", func(pod *corev1.Pod) {
		pod.Spec.NodeName, pod.CreationTimestamp = "node-c", metav1.NewTime(controllertest.Now.Add(-time.Hour))
	}))
	w.settle()
	assert.Equal(t, 5*time.Second, w.Step("ns", "ws"), "no event says that the cache has the node")
	w.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-c", Labels: map[string]string{"zone": "c"}}})
	assert.Equal(t, []string{"a 0 -1", "c 1 -1"}, rooms(w.settle()))
	assert.Zero(t, w.Step("ns", "ws"))
}

func TestOnlyChangesThatMatterCauseAPass(t *testing.T) {
	w := newWorld(t)
	w.ofCloneSet(1, []v1beta1.WorkloadSpreadSubset{open("a")})
	w.Observe()
	before, ready := pod("a-0", "a"), pod("a-0", "a")
	ready.Status.Conditions = nil
	key := []types.NamespacedName{{Namespace: "ns", Name: "ws"}}
	assert.Empty(t, w.r.podChanged(before, ready))
	assert.Equal(t, key, w.r.podChanged(nil, before))
	assert.Equal(t, key, w.r.podChanged(nil, pod("new", "")), "a Pod that admission did not see, because a slot is free")
	assert.Empty(t, w.r.podChanged(nil, pod("new", "", func(pod *corev1.Pod) { pod.Spec.NodeName = "" })))
	w.change(func(object *v1beta1.WorkloadSpread) {
		object.Spec.Subsets = []v1beta1.WorkloadSpreadSubset{limited("a", 0)}
	})
	w.settle()
	w.Observe()
	assert.Empty(t, w.r.podChanged(nil, pod("new", "")), "a Pod that found no slot")
	assert.Equal(t, key, w.r.podChanged(nil, pod("old", "", func(pod *corev1.Pod) {
		pod.CreationTimestamp = metav1.NewTime(controllertest.Now.Add(-time.Hour))
	})), "a Pod that is older than the WorkloadSpread")
	failed := pod("a-0", "a", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	assert.NotEmpty(t, w.r.podChanged(before, failed))
	kept := pod("old", "", func(pod *corev1.Pod) {
		pod.CreationTimestamp = metav1.NewTime(controllertest.Now.Add(-time.Hour))
		pod.Annotations = map[string]string{pub.MatchedWorkloadSpreadKey: `{"name":"gone","subset":"a"}`}
	})
	assert.Equal(t, []types.NamespacedName{{Namespace: "ns", Name: "gone"}, key[0]}, w.r.podChanged(nil, kept),
		"a Pod of a workload with another WorkloadSpread, which the target has adopted")
}
