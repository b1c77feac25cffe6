package podunavailablebudget

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

var notFound = apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "games"}, "g")

// counts are total, desired, current and allowed.
type counts [4]int32

func countsOf(s policyv1beta1.PodUnavailableBudgetStatus) counts {
	return counts{s.TotalReplicas, s.DesiredAvailable, s.CurrentAvailable, s.UnavailableAllowed}
}

// Case podunavailablebudget 1.
func TestCountsAndAnnotationsOfACoveredCloneSet(t *testing.T) {
	w := base(t)
	assert.Equal(t, counts{10, 7, 10, 3}, countsOf(w.budget("b").Status))
	assert.EqualValues(t, 1, w.budget("b").Status.ObservedGeneration)
	for _, pod := range w.Pods() {
		assert.Equal(t, "b", pod.Annotations["kruise.io/related-pub"])
		assert.Equal(t, "b", pod.Annotations["pub.kruise.io/related-pub"])
	}
	assert.Zero(t, w.last.RequeueAfter)
	w.reconcile()
	assert.Empty(t, w.Writes(), "nothing changed, nothing is written")
}

// A user who sees the count of a new budget relies on it, so kube-apiserver asks about its Pods before. A Pod that cannot be annotated
// does not keep the others from being counted.
func TestPodsAreProtectedBeforeTheirBudgetIsCounted(t *testing.T) {
	for name, refused := range map[string]string{"all": "", "one is refused": "p-3"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(newPods(10, "p", owner("apps.kruise.io/v1beta1", "CloneSet", "c")), newCloneSet(10), newBudget(ofCloneSet))...)
			w.Kube.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				patch, ok := action.(clienttesting.PatchAction)
				return ok && patch.GetName() == refused, nil, apierrors.NewForbidden(corev1.Resource("pods"), refused, nil)
			})
			counted := 0
			w.Kruise.PrependReactor("update", "podunavailablebudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
				counted++
				namespace, err := w.Kube.CoreV1().Namespaces().Get(t.Context(), "ns", metav1.GetOptions{})
				require.NoError(t, err)
				assert.Equal(t, "true", namespace.Labels["policy.kruise.io/pod-unavailable-budgets"])
				for _, pod := range w.Pods() {
					assert.Equal(t, pod.Name == refused, pod.Annotations["pub.kruise.io/related-pub"] == "", pod.Name)
				}
				return false, nil, nil
			})
			err := w.reconcileBudget("b")
			assert.Equal(t, refused == "", err == nil, "%v", err)
			assert.Equal(t, 1, counted)
			assert.Equal(t, counts{10, 7, 10, 3}, countsOf(w.budget("b").Status))
		})
	}
}

// grant writes a grant as admission does.
func (w *world) grant(name string, at time.Time) {
	w.t.Helper()
	budget := w.budget("b").DeepCopy()
	if budget.Status.DisruptedPods == nil {
		budget.Status.DisruptedPods = map[string]metav1.Time{}
	}
	budget.Status.DisruptedPods[name] = metav1.NewTime(at)
	budget.Status.UnavailableAllowed--
	w.Update(budget)
}

// Case podunavailablebudget 12.
func TestUnusedDeletionGrantIsDropped(t *testing.T) {
	w := base(t)
	w.grant("p-0", controllertest.Now)
	status := w.reconcile()
	assert.Equal(t, counts{10, 7, 9, 2}, countsOf(status))
	assert.Equal(t, 20*time.Second, w.last.RequeueAfter)
	w.Events()

	w.Clock.SetTime(controllertest.Now.Add(20 * time.Second))
	status = w.reconcile()
	assert.Equal(t, counts{10, 7, 10, 3}, countsOf(status))
	assert.Empty(t, status.DisruptedPods)
	events := w.Events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "Warning NotDeleted")
	assert.Contains(t, events[0], "ns/b")
}

// A grant without an observed disruption stands as long as the cache does not show what the server has.
func TestGrantEndsOnlyAfterALiveRead(t *testing.T) {
	w := base(t)
	w.grant("p-0", controllertest.Now)
	w.Observe()
	w.change("p-0", func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(controllertest.Now)), []string{"a/b"}
	})
	w.Clock.SetTime(controllertest.Now.Add(time.Hour))
	budget := w.budget("b")
	_, recheck, err := w.r.count(t.Context(), budget)
	require.NoError(t, err)
	assert.Equal(t, counts{10, 7, 9, 2}, countsOf(w.budget("b").Status))
	assert.Contains(t, w.budget("b").Status.DisruptedPods, "p-0")
	assert.Equal(t, time.Second, recheck)

	status := w.reconcile()
	assert.Equal(t, counts{10, 7, 9, 2}, countsOf(status))
	assert.Empty(t, status.DisruptedPods)
}

// Case podunavailablebudget 13.
func TestScaleDownLowersWhatMustStay(t *testing.T) {
	w := base(t)
	set := newCloneSet(5)
	w.Update(set)
	assert.Equal(t, counts{5, 3, 10, 7}, countsOf(w.reconcile()))
	for _, pod := range []string{"p-0", "p-1", "p-2", "p-3", "p-4"} {
		w.remove(pod)
	}
	assert.Equal(t, counts{5, 3, 5, 2}, countsOf(w.reconcile()))
}

// Cases podunavailablebudget 14, 15, 16, 17, 17a, 18, 26.
func TestTotals(t *testing.T) {
	cloneSet := owner("apps.kruise.io/v1beta1", "CloneSet", "c")
	two := append(newDeployment("x", 3), newDeployment("y", 4)...)
	two = append(two, newPods(3, "x", owner("apps/v1", "ReplicaSet", "x-1"))...)
	two = append(two, newPods(4, "y", owner("apps/v1", "ReplicaSet", "y-1"))...)
	percent := func(min string) func(*policyv1beta1.PodUnavailableBudget) {
		return func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.MaxUnavailable, b.Spec.MinAvailable = nil, new(intstr.FromString(min))
		}
	}
	number := func(min int) func(*policyv1beta1.PodUnavailableBudget) {
		return func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.MaxUnavailable, b.Spec.MinAvailable = nil, new(intstr.FromInt(min))
		}
	}
	rolling := append(newDeployment("x", 3), newReplicaSet("x-0", "x", 0))
	rolling = append(rolling, newPods(1, "old", owner("apps/v1", "ReplicaSet", "x-0"))...)
	rolling = append(rolling, newPods(2, "new", owner("apps/v1", "ReplicaSet", "x-1"))...)
	going := newCloneSet(10)
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"a/b"}
	tests := map[string]struct {
		objects []runtime.Object
		budget  *policyv1beta1.PodUnavailableBudget
		want    counts
	}{
		"80% of 7": {append(newPods(7, "p", cloneSet), newCloneSet(7)), newBudget(ofCloneSet, percent("80%")), counts{7, 6, 7, 1}},
		"10% of 3": {append(newPods(3, "p", cloneSet), newCloneSet(3)), newBudget(ofCloneSet, func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.MaxUnavailable = new(intstr.FromString("10%"))
		}), counts{3, 2, 3, 1}},
		"100%": {append(newPods(3, "p", cloneSet), newCloneSet(3)), newBudget(ofCloneSet, func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.MaxUnavailable = new(intstr.FromString("100%"))
		}), counts{3, 0, 3, 3}},
		"two Deployments":         {two, newBudget(selecting("app", "web")), counts{7, 4, 7, 3}},
		"one of them":             {two, newBudget(selecting("set", "y")), counts{4, 2, 4, 2}},
		"an old ReplicaSet":       {rolling, newBudget(target("apps/v1", "Deployment", "x")), counts{3, 2, 3, 1}},
		"workload gone, at least": {newPods(3, "p", cloneSet), newBudget(ofCloneSet, number(2)), counts{0, 2, 0, 0}},
		"workload goes":           {append(newPods(3, "p", cloneSet), going), newBudget(ofCloneSet), counts{0, 0, 0, 0}},
		"a StatefulSet": {append(newPods(3, "p", owner("apps/v1", "StatefulSet", "s")),
			&appsv1.StatefulSet{ObjectMeta: metaOf("StatefulSet", "s"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}}),
			newBudget(target("apps/v1beta1", "StatefulSet", "s")), counts{3, 2, 3, 1}},
		"a DaemonSet": {append(newPods(3, "p", owner("apps/v1", "DaemonSet", "s")),
			&appsv1.DaemonSet{ObjectMeta: metaOf("DaemonSet", "s"), Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 4}}),
			newBudget(target("apps/v1", "DaemonSet", "s")), counts{4, 2, 3, 1}},
		"Pods without an owner, a percentage": {newPods(3, "p"), newBudget(selecting("app", "web")), counts{3, 2, 3, 1}},
		"Pods without an owner, one": {newPods(3, "p"), newBudget(selecting("app", "web"), func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.MaxUnavailable = new(intstr.FromInt32(1))
		}), counts{3, 2, 3, 1}},
		"Pods without an owner, and a CloneSet": {append(append(newPods(2, "p", cloneSet), newPods(1, "alone")...), newCloneSet(2)),
			newBudget(selecting("app", "web"), func(b *policyv1beta1.PodUnavailableBudget) { b.Spec.MaxUnavailable = new(intstr.FromInt32(1)) }),
			counts{3, 2, 3, 1}},
		"Pods without an owner, and a number": {newPods(3, "p"), newBudget(selecting("app", "web"), func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.ProtectTotalReplicas = new(int32(3))
		}), counts{3, 2, 3, 1}},
		"a number overrides the target's": {append(newPods(3, "p", cloneSet), newCloneSet(3)), newBudget(ofCloneSet, func(b *policyv1beta1.PodUnavailableBudget) {
			b.Spec.ProtectTotalReplicas = new(int32(10))
		}), counts{10, 7, 3, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := make([]runtime.Object, 0, len(test.objects))
			for _, object := range test.objects {
				objects = append(objects, object.DeepCopyObject())
			}
			assert.Equal(t, test.want, countsOf(newWorld(t, append(objects, test.budget)...).reconcile()))
		})
	}
}

// Case podunavailablebudget 19.
func TestKindWithScaleIsCounted(t *testing.T) {
	ofGame := target("example.com/v1", "Game", "g")
	tests := map[string]struct {
		pods     []runtime.Object
		selector string
		want     counts
	}{
		"its own Pods":                     {newPods(4, "p", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Game", Name: "g", UID: "game", Controller: new(true)}), "set=other", counts{5, 3, 4, 1}},
		"Pods that it selects":             {newPods(4, "p"), "set=p", counts{5, 3, 4, 1}},
		"additional Pods without an owner": {newPods(4, "p"), "set=other", counts{5, 3, 0, 0}},
		"no scale, then its Pods":          {newPods(4, "p", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Game", Name: "g", UID: "game", Controller: new(true)}), "", counts{4, 2, 4, 2}},
		"no scale, and no Pods too":        {nil, "", counts{0, 0, 0, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(test.pods, newBudget(ofGame))...)
			w.game(5, test.selector)
			assert.Equal(t, test.want, countsOf(w.reconcile()))
			assert.Equal(t, 15*time.Second, w.last.RequeueAfter, "no event tells of its changes")
			for _, pod := range w.Pods() {
				assert.Equal(t, test.want[2] > 0, pod.Annotations["pub.kruise.io/related-pub"] == "b", pod.Name)
			}
		})
	}
}

func TestPermanentErrorsAreReported(t *testing.T) {
	t.Run("a kind that does not exist", func(t *testing.T) {
		w := newWorld(t, newBudget(target("example.com/v1", "Nothing", "g")))
		status := w.reconcile()
		assert.Zero(t, status.ObservedGeneration, "nothing was counted")
		events := strings.Join(w.Events(), "\n")
		assert.Contains(t, events, "Warning CalculateExpectedPodCountFailed")
		assert.Contains(t, events, "correct spec.targetRef, or install the kind")
	})
	t.Run("a kind whose server does not answer", func(t *testing.T) {
		w := newWorld(t, newBudget(target("example.com/v1", "Game", "g")))
		w.refuse("", assert.AnError)
		require.ErrorIs(t, w.reconcileBudget("b"), assert.AnError)
		assert.Zero(t, w.budget("b").Status.ObservedGeneration)
	})
}

// refuse makes reads of games fail: of the objects, or of a subresource.
func (w *world) refuse(subresource string, err error) {
	w.dynamic.PrependReactor("get", "games", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetSubresource() == subresource, nil, err
	})
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "games"}, "g", nil)

// Case podunavailablebudget 19b.
// A workload that may not be read does not block the disruptions of all Pods in the scope of the budget.
func TestUnreadableWorkloadCountsByItsPods(t *testing.T) {
	game := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Game", Name: "g", UID: "game", Controller: new(true)}
	other := game
	other.Name, other.UID = "other", "other"
	job := owner("batch/v1", "Job", "j")
	objects := append(append(newPods(4, "p", game), newPods(2, "o", other)...), newPods(3, "c", owner("apps.kruise.io/v1beta1", "CloneSet", "c"))...)
	objects = append(append(objects, newPods(2, "j", job)...), newCloneSet(5))
	// The workload owns Pods itself and through a ReplicaSet.
	objects = append(append(objects, newPods(3, "r", owner("apps/v1", "ReplicaSet", "r"))...),
		&appsv1.ReplicaSet{ObjectMeta: metaOf("ReplicaSet", "r", game), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}})
	tests := map[string]struct {
		unread string
		budget *policyv1beta1.PodUnavailableBudget
		want   counts
	}{
		"the object of a target": {"", newBudget(target("example.com/v1", "Game", "g")), counts{4 + 3, 4, 7, 3}},
		"the scale of a target":  {"scale", newBudget(target("example.com/v1", "Game", "g")), counts{4 + 3, 4, 7, 3}},
		"beside other workloads": {"", newBudget(selecting("app", "web")), counts{4 + 3 + 2 + 5 + 2, 11, 14, 3}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.budget)
			for _, object := range objects {
				w.Add(object.DeepCopyObject())
			}
			w.game(9, "set=other")
			w.refuse(test.unread, forbidden)
			w.Kube.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "j", nil)
			})
			status := w.reconcile()
			assert.Equal(t, test.want, countsOf(status))
			assert.EqualValues(t, 1, status.ObservedGeneration, "admission refuses everything until then")
			assert.Equal(t, 15*time.Second, w.last.RequeueAfter, "the permission may be granted")
			assert.Equal(t, "b", w.pod("p-0").Annotations["kruise.io/related-pub"])
		})
	}
}

// Case podunavailablebudget 19b.
func TestKindThatIsNotServedDoesNotStopTheCountOfOthers(t *testing.T) {
	nothing := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Nothing", Name: "n", UID: "n", Controller: new(true)}
	w := newWorld(t, append(append(newPods(1, "n", nothing), newPods(3, "c", owner("apps.kruise.io/v1beta1", "CloneSet", "c"))...),
		newCloneSet(5), newBudget(selecting("app", "web")))...)
	status := w.reconcile()
	assert.EqualValues(t, 1, status.ObservedGeneration, "admission refuses everything until then")
	assert.Equal(t, counts{5 + 1, 4, 4, 0}, countsOf(status))
	assert.Equal(t, 15*time.Second, w.last.RequeueAfter, "the kind may be installed")
	assert.Empty(t, w.Events())
}

// The server of a kind that does not answer stops neither the count of other Pods nor that of its own.
// Case podunavailablebudget 19d.
func TestWorkloadWhoseServerIsDown(t *testing.T) {
	down := apierrors.NewInternalError(errors.New("conversion webhook failed"))
	game := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Game", Name: "g", UID: "game", Controller: new(true)}
	lose := func(w *world) counts {
		w.grant("c-0", controllertest.Now)
		w.remove("c-0")
		w.change("c-1", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		return countsOf(w.reconcile())
	}
	t.Run("beside other workloads", func(t *testing.T) {
		w := newWorld(t, append(append(newPods(1, "g", game), newPods(9, "c", owner("apps.kruise.io/v1beta1", "CloneSet", "c"))...),
			newCloneSet(9), newBudget(selecting("app", "web")))...)
		w.game(1, "set=other")
		require.Equal(t, counts{10, 7, 10, 3}, countsOf(w.reconcile()))
		w.refuse("", down)
		assert.Equal(t, counts{10, 7, 8, 1}, lose(w))
		assert.Empty(t, w.budget("b").Status.DisruptedPods)
		assert.Contains(t, strings.Join(w.Events(), "\n"), "Warning WorkloadNotReadable Game.example.com g cannot be read, so only its "+
			"existing Pods are counted, and not its replicas: ")
		assert.Equal(t, 15*time.Second, w.last.RequeueAfter, "it is asked again")
	})
	for name, owners := range map[string][]metav1.OwnerReference{"of a target": {game}, "of a target that selects them by its scale": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(newPods(9, "c", owners...), newBudget(target("example.com/v1", "Game", "g")))...)
			w.game(10, "set=c")
			require.Equal(t, counts{10, 7, 9, 2}, countsOf(w.reconcile()))
			w.refuse("", down)
			assert.Equal(t, counts{10, 7, 7, 0}, lose(w), "as many are wanted as before")
			assert.Empty(t, w.budget("b").Status.DisruptedPods)
		})
	}
}

// Case podunavailablebudget 19b.
func TestUnreadableWorkloadIsReportedWhenItBegins(t *testing.T) {
	w := newWorld(t, append(newPods(4, "p", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Game", Name: "g", UID: "game", Controller: new(true)}),
		newBudget(selecting("app", "web")))...)
	w.game(9, "set=other")
	readable := w.dynamic.ReactionChain
	w.refuse("scale", forbidden)
	w.reconcile()
	const event = `Warning WorkloadNotReadable The controllers may not read Game.example.com or its scale, so only its existing Pods are counted, ` +
		`and not its replicas; grant the verb get on games.example.com and games.example.com/scale by a ClusterRole with the label ` +
		`rbac.kruise.io/aggregate-to-workloads: "true"`
	assert.Equal(t, []string{event}, w.Events())
	w.remove("p-0")
	w.reconcile()
	assert.Empty(t, w.Events(), "once is enough")

	refusing := w.dynamic.ReactionChain
	w.dynamic.ReactionChain = readable
	assert.Equal(t, counts{9, 6, 3, 0}, countsOf(w.reconcile()), "the permission was granted")
	w.dynamic.ReactionChain = refusing
	w.reconcile()
	assert.Equal(t, []string{event}, w.Events(), "it was revoked")
}

// Case podunavailablebudget 19a.
// The administrator's list for PersistentPodStates says where kinds without a scale have their number.
func TestListedKindWithoutScaleCountsBySpecReplicas(t *testing.T) {
	const list = `{"workloads":[{"Group":"example.com","Version":"v9","Kind":"Game"}]}`
	game := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Game", Name: "g", UID: "game", Controller: new(true)}
	tests := map[string]struct {
		list  string
		scale error
		want  counts
	}{
		"listed":                         {list, notFound, counts{9, 6, 4, 0}},
		"listed, its scale is forbidden": {list, forbidden, counts{9, 6, 4, 0}},
		"listed, it has a scale":         {list, nil, counts{5, 3, 4, 1}},
		"another kind":                   {`{"workloads":[{"group":"example.com","kind":"Match"}]}`, notFound, counts{4, 2, 4, 2}},
		"a list that is not JSON":        {"{", notFound, counts{4, 2, 4, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(newPods(4, "p", game), newBudget(target("example.com/v1", "Game", "g")))...)
			w.Add(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: controllertest.SystemNamespace, Name: pub.ConfigurationName},
				Data:       map[string]string{pub.PersistentPodStateWorkloadsKey: test.list},
			})
			w.game(5, "set=other")
			require.NoError(t, w.dynamic.Tracker().Update(games, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Game", "metadata": map[string]any{"name": "g", "namespace": "ns", "uid": "game"},
				"spec": map[string]any{"replicas": int64(9)},
			}}, "ns"))
			if test.scale != nil {
				w.refuse("scale", test.scale)
			}
			assert.Equal(t, test.want, countsOf(w.reconcile()))
			assert.Empty(t, w.Events())
		})
	}
}

// Case podunavailablebudget 23.
func TestMarkedPodIsNotAvailable(t *testing.T) {
	w := base(t)
	w.change("p-0", func(p *corev1.Pod) { p.Labels["unavailable-pod.kruise.io/x"] = "" })
	assert.Equal(t, counts{10, 7, 9, 2}, countsOf(w.reconcile()))
}

// Case podunavailablebudget 25: admission grants between the controller's read and its write.
func TestGrantDuringARecountIsKept(t *testing.T) {
	w := base(t)
	w.Observe()
	w.change("p-9", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
	raced := 0
	w.Kruise.PrependReactor("update", "podunavailablebudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if raced++; raced > 2 {
			return false, nil, nil
		}
		w.grant([]string{"p-0", "p-1"}[raced-1], controllertest.Now)
		return true, nil, apierrors.NewConflict(schema.GroupResource{}, "b", nil)
	})
	status := w.reconcile()
	assert.Equal(t, counts{10, 7, 7, 0}, countsOf(status))
	assert.Len(t, status.DisruptedPods, 2)
}

// A recount that conflicts with many grants makes progress: it does not read deleted Pods again.
func TestConflictingRecountReadsEachPodOnce(t *testing.T) {
	w := base(t)
	w.grant("p-8", controllertest.Now)
	w.grant("p-9", controllertest.Now)
	w.remove("p-8")
	w.remove("p-9")
	w.Observe()
	raced := 0
	w.Kruise.PrependReactor("update", "podunavailablebudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if raced++; raced == 10 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{}, "b", nil)
	})
	w.Kube.ClearActions()
	status := w.reconcile()
	assert.Equal(t, counts{10, 7, 8, 1}, countsOf(status))
	assert.Empty(t, status.DisruptedPods)
	read := map[string]int{}
	for _, action := range w.Kube.Actions() {
		if get, ok := action.(clienttesting.GetAction); ok && action.Matches("get", "pods") {
			read[get.GetName()]++
		}
	}
	assert.Equal(t, map[string]int{"p-8": 1, "p-9": 1}, read)
}

// Case podunavailablebudget 27.
func TestReplacementBudgetTakesOverPods(t *testing.T) {
	w := base(t)
	require.NoError(t, w.Kruise.Tracker().Delete(policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets"), "ns", "b"))
	w.Add(newBudget(ofCloneSet, called("d")))
	require.NoError(t, w.reconcileBudget("b"))
	require.NoError(t, w.reconcileBudget("d"))
	for _, pod := range w.Pods() {
		assert.Equal(t, "d", pod.Annotations["kruise.io/related-pub"])
		assert.Equal(t, "d", pod.Annotations["pub.kruise.io/related-pub"])
	}
	require.NoError(t, w.Kruise.Tracker().Delete(policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets"), "ns", "d"))
	require.NoError(t, w.reconcileBudget("d"))
	for _, pod := range w.Pods() {
		assert.NotContains(t, pod.Annotations, "kruise.io/related-pub")
	}
}

// If two budgets match a Pod, only one of them counts it.
func TestPodHasOneBudget(t *testing.T) {
	cloneSet := owner("apps.kruise.io/v1beta1", "CloneSet", "c")
	w := newWorld(t, append(append(newPods(4, "p", cloneSet), newPods(2, "q")...), newCloneSet(4),
		newBudget(selecting("app", "web")), newBudget(ofCloneSet, called("z")))...)
	assert.Equal(t, counts{2, 1, 2, 1}, countsOf(w.reconcile()))
	require.NoError(t, w.reconcileBudget("z"))
	assert.Equal(t, counts{4, 2, 4, 2}, countsOf(w.budget("z").Status))
	assert.Equal(t, "b", w.pod("q-0").Annotations["kruise.io/related-pub"])
	assert.Equal(t, "z", w.pod("p-0").Annotations["kruise.io/related-pub"])
}

func TestNoPods(t *testing.T) {
	w := newWorld(t, newBudget(ofCloneSet))
	w.reconcile()
	w.reconcile()
	assert.Equal(t, []string{"Normal NoPods No matching pods found"}, w.Events(), "once is enough")
}

func TestNamespaceOfBudgetIsLabelled(t *testing.T) {
	w := newWorld(t, newBudget(ofCloneSet))
	label := func() (string, bool) {
		require.NoError(t, w.reconcileBudget(""))
		namespace, err := w.Kube.CoreV1().Namespaces().Get(t.Context(), "ns", metav1.GetOptions{})
		require.NoError(t, err)
		value, found := namespace.Labels["policy.kruise.io/pod-unavailable-budgets"]
		return value, found
	}
	value, _ := label()
	assert.Equal(t, "true", value)
	w.Writes()
	label()
	assert.Empty(t, w.Writes())
	require.NoError(t, w.Kruise.Tracker().Delete(policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets"), "ns", "b"))
	_, found := label()
	assert.False(t, found)
	w.Observe()
	require.NoError(t, w.r.labelNamespace(t.Context(), "gone"))
}

// A Pod that the cache does not show is read from the server. If that takes long, the count is of the Pods after it.
func TestSlowReadsDoNotMakeACountOld(t *testing.T) {
	w := base(t)
	w.grant("p-8", controllertest.Now)
	w.remove("p-8")
	broken := false
	w.Kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if !broken {
			broken = true
			w.Clock.SetTime(controllertest.Now.Add(2 * time.Second))
			pod, err := w.Kube.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "p-0")
			require.NoError(t, err)
			pod.(*corev1.Pod).Status.Conditions[0].Status = corev1.ConditionFalse
			w.Update(pod)
			w.Observe()
		}
		return false, nil, nil
	})
	status := w.reconcile()
	require.True(t, broken)
	assert.Equal(t, counts{10, 7, 8, 1}, countsOf(status))
}
