package statefulset

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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// nodes lets nodes and time go on, but runs no pass that may fail.
func (w *world) rounds(n int) {
	for range n {
		w.step()
		w.kubelet()
	}
}

// Case statefulset 17.
func TestScaleInWaitsForAnUnavailablePodInRange(t *testing.T) {
	w := rolled(t, "", newSet(5))
	w.ill["web-1"] = true
	w.kubelet()
	w.edit(replicas(3))
	w.rounds(3)
	assert.Len(t, w.Pods(), 5, "web-1 is unavailable and stays")

	w.ill = map[string]bool{"web-4": true}
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names(), "an unavailable Pod that goes does not hold up itself")
}

// Case statefulset 44.
func TestUnavailablePodsAreNotScaledInInOrder(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.ill = map[string]bool{"web-0": true, "web-1": true, "web-2": true}
	w.kubelet()
	w.edit(replicas(0))
	w.rounds(3)
	assert.Len(t, w.Pods(), 3)

	w.ill = nil
	w.kubelet()
	for _, left := range [][]string{{"web-0", "web-1"}, {"web-0"}, nil} {
		for range controllertest.StopSteps {
			w.step()
			assert.Equal(t, left, w.names(), "one after the other, the highest ordinal first")
		}
	}
}

func TestScaleInInOrderWaitsForATerminatingPod(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.terminate("web-2")
	w.edit(replicas(1))
	w.rounds(2)
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names())
	assert.Equal(t, int32(3), w.set().Status.Replicas, "a terminating Pod counts")
	w.lose("web-2")
	w.settle()
	assert.Equal(t, []string{"web-0"}, w.names())
}

// Case statefulset 28.
func TestTerminatingPodHoldsUpNoOtherInParallel(t *testing.T) {
	w := rolled(t, "", newSet(3, parallel))
	w.terminate("web-0")
	w.edit(replicas(5))
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1", "web-2", "web-3", "web-4"}, w.names())
	assert.NotNil(t, w.pod("web-0").DeletionTimestamp, "no second Pod of an ordinal")
	w.edit(replicas(2))
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1"}, w.names())
}

func TestPodWaitsUntilItsPredecessorIsGone(t *testing.T) {
	w := rolled(t, "", newSet(2))
	w.terminate("web-0")
	w.lose("web-1")
	w.rounds(3)
	assert.Equal(t, []string{"web-0"}, w.names(), "in order, web-1 waits too")
	w.lose("web-0")
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1"}, w.names())
}

// Case statefulset 13.
func TestCreationStopsAtTheScaleLimit(t *testing.T) {
	w := newWorld(t, "", newSet(50, parallel, scaleLimit("10%"), image("broken:1")))
	w.node.Broken = brokenImage
	w.settle()
	assert.Len(t, w.Pods(), 5)
}

func brokenImage(image string) bool { return strings.HasPrefix(image, "broken") }

// Case statefulset 14.
func TestBrokenPodsAreUpdatedAtTheScaleLimit(t *testing.T) {
	w := newWorld(t, "", newSet(50, parallel, scaleLimit("10%"), image("broken:1")))
	w.node.Broken = brokenImage
	w.settle()
	w.edit(image("app:1"))
	w.settle()
	assert.Len(t, w.Pods(), 50)
	for _, image := range w.images() {
		assert.Equal(t, "app:1", image)
	}
}

// Case statefulset 48.
func TestScaleLimitPacesCreation(t *testing.T) {
	w := rolled(t, "", newSet(3, parallel, scaleLimit("2"), maxUnavailable("100%")))
	w.node.Broken = brokenImage
	w.edit(replicas(10))
	w.step()
	assert.Len(t, w.Pods(), 5, "two at a time")
	w.step()
	assert.Len(t, w.Pods(), 5, "the next wait until these are available")
	w.settle()
	assert.Len(t, w.Pods(), 10)

	w.edit(scaleLimit("100%"), image("broken:1"))
	before := w.uids()
	w.settle()
	for name, uid := range w.uids() {
		assert.NotEqual(t, before[name], uid, "%s is replaced", name)
	}
	w.edit(image("app:2"))
	w.settle()
	for _, image := range w.images() {
		assert.Equal(t, "app:2", image, "though no Pod is ready")
	}
}

// Case statefulset 24: a Pod that failed is replaced by one of the same name with the same claims.
func TestFailedPodIsReplaced(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		for _, tc := range [][]edit{nil, {parallel}, {parallel, scaleLimit("1")}} {
			w := rolled(t, "", newSet(2, append(tc, volume("data", "1Gi"))...))
			pod, claim := w.pod("web-0").UID, w.claim("data-web-0").UID
			w.change("web-0", func(pod *corev1.Pod) { pod.Status.Phase = phase })
			w.settle()
			require.NotNil(t, w.pod("web-0"))
			assert.NotEqual(t, pod, w.pod("web-0").UID)
			assert.Equal(t, claim, w.claim("data-web-0").UID)
			assert.Equal(t, int32(2), w.set().Status.ReadyReplicas)
		}
	}
}

// Case statefulset 45.
func TestPodThatFailsAgainAndAgainWaits(t *testing.T) {
	w := rolled(t, "", newSet(1))
	var waits []time.Duration
	for range 9 {
		w.change("web-0", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		before := w.pod("web-0").UID
		due := w.step()
		if pod := w.pod("web-0"); pod != nil && pod.UID == before {
			waits = append(waits, due)
			w.pass(due)
			w.step()
		}
		require.Nil(t, w.pod("web-0"), "the failed Pod is deleted once its time has come")
		w.step()
	}
	require.Len(t, waits, 8, "the first Pod is deleted at once")
	assert.Equal(t, time.Second, waits[0])
	for i, wait := range waits {
		assert.LessOrEqual(t, wait, time.Minute, i)
	}
	assert.Equal(t, time.Minute, waits[7])
	w.pass(6 * time.Minute)
	w.change("web-0", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	w.step()
	assert.Nil(t, w.pod("web-0"), "old failures are forgotten")
}

// Case statefulset 31.
func TestPreDeleteHookHoldsAPodThatScalesIn(t *testing.T) {
	w := rolled(t, "", newSet(3, held, hooks(pub.Lifecycle{PreDelete: &pub.LifecycleHook{LabelsHandler: map[string]string{"hold": "on"}}})))
	w.edit(replicas(1))
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names())
	assert.Equal(t, "PreparingDelete", w.pod("web-2").Labels[pub.LifecycleStateKey])
	assert.Equal(t, "Normal", w.pod("web-1").Labels[pub.LifecycleStateKey], "the next Pod waits")
	assert.Equal(t, int32(2), w.set().Status.AvailableReplicas)
	for _, name := range []string{"web-2", "web-1"} {
		w.change(name, func(pod *corev1.Pod) { delete(pod.Labels, "hold") })
		w.settle()
	}
	assert.Equal(t, []string{"web-0"}, w.names())
}

func held(s *v1beta1.StatefulSetSpec) { s.Template.Labels["hold"] = "on" }

// Pods that never become available hold up no other Pod that goes.
func TestScaleInInOrderPassesPodsThatEnded(t *testing.T) {
	w := rolled(t, "", newSet(4, held, hooks(pub.Lifecycle{PreDelete: &pub.LifecycleHook{LabelsHandler: map[string]string{"hold": "on"}}})))
	w.edit(reserve("1"), replicas(3))
	w.settle()
	require.Equal(t, "PreparingDelete", w.pod("web-1").Labels[pub.LifecycleStateKey])
	w.edit(replicas(1))
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		w.change(name, func(pod *corev1.Pod) { delete(pod.Labels, "hold") })
	}
	w.change("web-2", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	w.ill["web-3"] = true
	w.kubelet()
	w.settle()
	assert.Equal(t, []string{"web-0"}, w.names())
}

// A Pod that a hook holds and that is wanted again returns. It is replaced if it has another revision, if somebody picked it for deletion,
// or if the hook has taken it out of service: it is deleted once the hook lets it go, and then created again.
func TestHeldPodThatIsWantedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		drains  bool
		also    func(*world)
		returns bool
	}{
		"returns":              {returns: true, also: func(*world) {}},
		"of an older revision": {also: func(w *world) { w.edit(image("web:2")) }},
		"that somebody picked": {also: func(w *world) {
			w.change("web-1", func(pod *corev1.Pod) { pod.Labels[pub.SpecifiedDeleteKey] = "true" })
		}},
		"that is out of service": {drains: true, also: func(*world) {}},
		"below the partition":    {returns: true, also: func(w *world) { w.edit(partition(2), image("web:2")) }},
		"below the partition, unordered": {returns: true, also: func(w *world) {
			unordered := func(s *v1beta1.StatefulSetSpec) {
				s.UpdateStrategy.RollingUpdate.UnorderedUpdate = &v1beta1.UnorderedUpdateStrategy{}
			}
			w.edit(parallel, partition(2), unordered, image("web:2"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			hook := &pub.LifecycleHook{LabelsHandler: map[string]string{"hold": "on"}, MarkPodNotReady: tc.drains}
			w := rolled(t, "", newSet(2, held, hooks(pub.Lifecycle{PreDelete: hook})))
			before := w.pod("web-1").UID
			w.edit(replicas(1))
			w.settle()
			require.Equal(t, "PreparingDelete", w.pod("web-1").Labels[pub.LifecycleStateKey])
			tc.also(w)
			w.edit(replicas(2))
			w.settle()
			assert.Equal(t, before, w.pod("web-1").UID)
			assert.Equal(t, tc.returns, w.pod("web-1").Labels[pub.LifecycleStateKey] == "Normal", w.pod("web-1").Labels)
			w.change("web-1", func(pod *corev1.Pod) { delete(pod.Labels, "hold") })
			w.settle()
			assert.Equal(t, tc.returns, before == w.pod("web-1").UID)
			assert.Equal(t, "Normal", w.pod("web-1").Labels[pub.LifecycleStateKey])
		})
	}
}

// A Pod that its hook has released is deleted, although a Pod with a lower ordinal is not available and ends the walk over the Pods.
func TestReleasedPodIsDeletedAlthoughALowerOneIsNotAvailable(t *testing.T) {
	for name, test := range map[string]struct {
		edits []edit
		lower func(*world)
	}{
		"in parallel, behind a held Pod": {[]edit{parallel, scaleLimit("1"), maxUnavailable("2")}, func(w *world) {
			require.Equal(t, "PreparingDelete", w.pod("web-1").Labels[pub.LifecycleStateKey])
		}},
		"in order, behind a broken Pod": {nil, func(w *world) {
			w.ill["web-0"] = true
			w.kubelet()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			hook := hooks(pub.Lifecycle{PreDelete: &pub.LifecycleHook{LabelsHandler: map[string]string{"hold": "on"}}})
			w := rolled(t, "", newSet(3, append(test.edits, held, hook)...))
			before := w.pod("web-2").UID
			w.edit(image("web:2"))
			w.settle()
			require.Equal(t, "PreparingDelete", w.pod("web-2").Labels[pub.LifecycleStateKey])
			test.lower(w)
			w.change("web-2", func(pod *corev1.Pod) { delete(pod.Labels, "hold") })
			w.settle()
			after := w.pod("web-2")
			assert.True(t, after == nil || after.UID != before)
		})
	}
}

func TestPreNormalHookHoldsANewPod(t *testing.T) {
	w := newWorld(t, "", newSet(2, hooks(pub.Lifecycle{PreNormal: &pub.LifecycleHook{LabelsHandler: map[string]string{"ok": "yes"}}})))
	w.settle()
	assert.Equal(t, []string{"web-0"}, w.names())
	assert.Equal(t, "PreparingNormal", w.pod("web-0").Labels[pub.LifecycleStateKey])
	w.change("web-0", func(pod *corev1.Pod) { pod.Labels["ok"] = "yes" })
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1"}, w.names())
}

// A reservation that cannot be read deletes no Pod.
func TestInvalidReservationChangesNothing(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.edit(replicas(1), func(s *v1beta1.StatefulSetSpec) { s.ReserveOrdinals = []intstr.IntOrString{intstr.FromString("2-1")} })
	require.ErrorContains(t, w.attempt(), "reserveOrdinals[0]")
	assert.Len(t, w.Pods(), 3)
	status := w.set().Status
	require.Len(t, conditions.Others(status.Conditions), 1)
	assert.Equal(t, v1beta1.StatefulSetConditionFailedCreatePod, status.Conditions[0].Type)
	assert.Equal(t, int64(2), status.ObservedGeneration)
}

// The names of all claims would take more memory than the program has.
func TestTooManyClaimsChangeNothing(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.edit(replicas(150_000), func(s *v1beta1.StatefulSetSpec) {
		s.VolumeClaimTemplates = make([]corev1.PersistentVolumeClaim, 50)
	})
	require.ErrorContains(t, w.attempt(), "replicas: 150000 Pods with 50 claims each have 7500000 claims, more than 1000000; reduce one of them")
	assert.Equal(t, 3, len(w.Pods()))
}

// Case statefulset 42.
func TestPodsAreReleasedAndAdopted(t *testing.T) {
	w := rolled(t, "", newSet(2))
	before := w.uids()
	owned := func() bool { return metav1.GetControllerOf(w.pod("web-1")) != nil }
	w.change("web-1", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
	w.settle()
	assert.True(t, owned(), "adopted")
	assert.Empty(t, w.Events(), "it is not created too")

	w.change("web-1", func(pod *corev1.Pod) { delete(pod.Labels, "app") })
	require.Error(t, w.attempt(), "the name is taken")
	assert.False(t, owned(), "released")
	w.Events()
	require.Error(t, w.attempt())
	assert.Empty(t, w.Events(), "the name that is taken is no event")
	require.Len(t, conditions.Others(w.set().Status.Conditions), 1)

	w.change("web-1", func(pod *corev1.Pod) { pod.Labels["app"] = "web" })
	w.settle()
	assert.True(t, owned(), "adopted again")
	assert.Equal(t, before, w.uids())
	assert.Empty(t, w.set().Status.Conditions)
}

// A Pod that ended keeps its name, so nobody else can fill its slot before it is adopted and deleted.
func TestFailedPodIsAdoptedAndReplaced(t *testing.T) {
	w := rolled(t, "", newSet(2))
	before := w.uids()
	w.change("web-1", func(pod *corev1.Pod) { pod.OwnerReferences, pod.Status.Phase = nil, corev1.PodFailed })
	w.settle()
	assert.Equal(t, before["web-0"], w.uids()["web-0"])
	assert.NotEqual(t, before["web-1"], w.uids()["web-1"])
	assert.Empty(t, w.set().Status.Conditions)
}

// A user takes the labels from a Pod that failed, to look at it.
func TestFailedPodWithoutItsLabelsIsReleased(t *testing.T) {
	w := rolled(t, "", newSet(2))
	before := w.uids()
	w.change("web-1", func(pod *corev1.Pod) {
		delete(pod.Labels, "app")
		pod.Status.Phase = corev1.PodFailed
	})
	require.Error(t, w.attempt(), "the name is taken")
	require.Error(t, w.attempt())
	assert.Equal(t, before, w.uids())
	assert.Nil(t, metav1.GetControllerOf(w.pod("web-1")), "released")
}

// A Pod that is adopted in this pass may be the next one to be deleted.
func TestScaleInInOrderCountsAdoptedPods(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.change("web-2", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
	w.edit(replicas(1))
	w.step()
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names())
	w.step()
	assert.Equal(t, []string{"web-0", "web-1"}, w.names())
}

func TestOtherPodsAreNotAdopted(t *testing.T) {
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web-01", Namespace: "ns", UID: "stranger", Labels: map[string]string{"app": "web"},
	}}
	w := rolled(t, "", newSet(1))
	w.Add(stranger)
	w.settle()
	assert.Empty(t, w.pod("web-01").OwnerReferences)
	assert.Contains(t, w.Events(), "Warning NotAdopted These Pods match the selector and have no controller, but are not adopted, because their names are "+
		"not names of this StatefulSet: web-01. To keep them apart, change their labels. Otherwise, delete them")
}

// A Pod whose labels the user changed is released and keeps its name. The Pods of the other ordinals are created all the same.
func TestTakenNameDoesNotHoldUpOtherPods(t *testing.T) {
	w := newWorld(t, "", newSet(3, parallel))
	w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "ns", UID: "released"}})
	require.ErrorContains(t, w.attempt(), `"web-0" already exists`)
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names())
}

// The StatefulSet of Kubernetes with the same name still has its Pods.
func TestNameThatAnotherWorkloadHasIsReported(t *testing.T) {
	w := newWorld(t, "", newSet(1))
	other := metav1.NewControllerRef(&metav1.ObjectMeta{Name: "web", UID: "other"}, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "ns", UID: "theirs", OwnerReferences: []metav1.OwnerReference{*other}}})
	require.ErrorContains(t, w.attempt(), `StatefulSet web of apps/v1 controls it`)
	events := w.Events()
	require.Len(t, events, 1, "%v", events)
	assert.Contains(t, events[0], "Warning FailedCreate create Pod web-0 in StatefulSet web failed error: ")
	assert.Contains(t, events[0], "StatefulSet web of apps/v1 controls it; delete the Pod, or, to take it over, delete that StatefulSet with --cascade=orphan")
}

func TestLostLabelsAreRestored(t *testing.T) {
	w := rolled(t, "", newSet(1))
	w.change("web-0", func(pod *corev1.Pod) { delete(pod.Labels, "statefulset.kubernetes.io/pod-name") })
	w.settle()
	assert.Equal(t, "web-0", w.pod("web-0").Labels["statefulset.kubernetes.io/pod-name"])
	assert.Equal(t, []string{"Normal SuccessfulUpdate update Pod web-0 in StatefulSet web successful"}, w.Events())
}

func TestIndexLabelFollowsItsGate(t *testing.T) {
	w := rolled(t, "PodIndexLabel=false", newSet(1))
	assert.NotContains(t, w.pod("web-0").Labels, "apps.kubernetes.io/pod-index")
}

// Case statefulset 43.
func TestStartMovesThePods(t *testing.T) {
	w := rolled(t, "StatefulSetStartOrdinal=true", newSet(2, start(3)))
	assert.Equal(t, []string{"web-3", "web-4"}, w.names())
	for ordinal, want := range map[int32][]string{2: {"web-2", "web-3"}, 4: {"web-4", "web-5"}, 0: {"web-0", "web-1"}} {
		w.edit(start(ordinal))
		w.settle()
		assert.Equal(t, want, w.names())
		assert.Equal(t, []int32{2, 2}, []int32{w.set().Status.Replicas, w.set().Status.ReadyReplicas})
	}
}

// When ordinals move, the new Pods are available before the old ones go.
func TestNewOrdinalsComeBeforeOldOnesGo(t *testing.T) {
	w := rolled(t, "", newSet(3))
	w.edit(reserve("0"))
	w.settle()
	assert.Equal(t, []string{"web-1", "web-2", "web-3"}, w.names())
	assert.GreaterOrEqual(t, w.least, 3)
}

// A deletion that the server refuses is told in the words of Kubernetes, and in those of the other kinds.
func TestRefusedDeletionIsTold(t *testing.T) {
	w := rolled(t, "", newSet(2))
	refusals := 1
	w.Kube.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		refusals--
		return refusals >= 0, nil, apierrors.NewForbidden(corev1.Resource("pods"), "web-1", errors.New("not now"))
	})
	w.edit(replicas(1))
	require.Error(t, w.attempt())
	assert.Equal(t, []string{
		`Warning FailedDelete delete Pod web-1 in StatefulSet web failed error: pods "web-1" is forbidden: not now`,
		`Warning FailedDelete failed to delete pod web-1: pods "web-1" is forbidden: not now`,
	}, w.Events())
	w.settle()
	assert.Equal(t, []string{"web-0"}, w.names(), "it is tried again")
}
