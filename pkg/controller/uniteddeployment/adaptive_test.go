package uniteddeployment

import (
	"strconv"
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
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
)

// controlled returns the owner reference of a workload of Kubernetes.
func controlled(owner metav1.Object, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))}
}

// replicaSetOf returns the ReplicaSet named set of a Deployment.
func replicaSetOf(deployment controller.Object) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "set", UID: "set", OwnerReferences: controlled(deployment, "Deployment"),
	}}
}

// podOf returns a running Pod of a ReplicaSet that has the same name and UID.
func podOf(name, owner string, labels map[string]string) *corev1.Pod {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: owner, UID: replicaSetOf(&appsv1.Deployment{}).UID}}
	if owner != "set" {
		set.UID = "other"
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels, OwnerReferences: controlled(set, "ReplicaSet")},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// adaptively makes a UnitedDeployment adaptive, with subsets a, b and c. The first subsets have a maximum.
func adaptively(reserve bool, replicas int32, maxima ...int32) func(*v1beta1.UnitedDeployment) {
	return func(u *v1beta1.UnitedDeployment) {
		u.Spec.Replicas = &replicas
		u.Spec.Topology.Subsets = []v1beta1.Subset{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		for i, most := range maxima {
			u.Spec.Topology.Subsets[i].MaxReplicas = number(most)
		}
		u.Spec.Topology.ScheduleStrategy = v1beta1.UnitedDeploymentScheduleStrategy{
			Type: v1beta1.AdaptiveUnitedDeploymentScheduleStrategyType,
			Adaptive: &v1beta1.AdaptiveUnitedDeploymentStrategy{
				RescheduleCriticalSeconds: ptr.To[int32](30), UnschedulableDuration: ptr.To[int32](300), ReserveUnschedulablePods: reserve,
			},
		}
	}
}

// schedulable returns the condition of a subset as "status reason", or "".
func (w *world) schedulable(subset string) string {
	w.t.Helper()
	for _, status := range w.united().Status.SubsetStatuses {
		if c := conditionOf(&status); status.Name == subset && c != nil {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// Case uniteddeployment 19.
func TestUnschedulablePodsMoveOn(t *testing.T) {
	w := newWorld(t, ofCloneSets(), adaptively(false, 3, 2, 2))
	w.settle()
	w.rounds("a", "c")
	assert.Equal(t, []int32{2, 1, 0}, w.replicas())
	assert.Empty(t, w.schedulable("b"))
	assert.Equal(t, 30*time.Second, w.Step("ns", "web"), "the next pass is when the Pod has waited for too long")
	w.pass(29)
	w.rounds("a", "c")
	assert.Equal(t, []int32{2, 1, 0}, w.replicas())
	w.pass(1)
	w.rounds("a", "c")
	assert.Equal(t, []int32{2, 0, 1}, w.replicas())
	assert.Equal(t, "False reschedule", w.schedulable("b"))
	w.edit(scale(5))
	w.rounds("a", "c")
	assert.Equal(t, []int32{2, 0, 3}, w.replicas())
	w.edit(scale(4))
	w.rounds("a", "c")
	assert.Equal(t, []int32{2, 0, 2}, w.replicas())
	w.pass(299)
	w.rounds("a", "c")
	assert.Equal(t, "False reschedule", w.schedulable("b"))
	assert.Equal(t, time.Second, w.Step("ns", "web"), "the next pass is at the end of the period")
	w.pass(1)
	w.rounds("a", "b", "c")
	assert.Equal(t, "True recover", w.schedulable("b"))
	assert.Equal(t, []int32{2, 0, 2}, w.replicas(), "healthy Pods do not move back")
	w.edit(scale(5))
	assert.Equal(t, []int32{2, 1, 2}, w.replicas())
	w.edit(scale(4))
	assert.Equal(t, []int32{2, 0, 2}, w.replicas(), "the Pod that is not ready goes first")
}

// Case uniteddeployment 19.
func TestPendingPodsStartANewPeriod(t *testing.T) {
	w := newWorld(t, ofCloneSets(), func(u *v1beta1.UnitedDeployment) {
		adaptively(false, 3, 2)(u)
		u.Spec.Topology.Subsets = u.Spec.Topology.Subsets[:2]
		u.Spec.Topology.Subsets[0].MinReplicas = number(1)
	})
	w.settle()
	w.rounds("b")
	w.pass(30)
	w.rounds("b")
	assert.Equal(t, []int32{1, 2}, w.replicas())
	began := conditionOf(&w.united().Status.SubsetStatuses[0]).LastTransitionTime
	w.pass(300)
	w.rounds("b")
	condition := conditionOf(&w.united().Status.SubsetStatuses[0])
	assert.Equal(t, corev1.ConditionFalse, condition.Status)
	assert.Equal(t, 300*time.Second, condition.LastTransitionTime.Sub(began.Time))
	w.edit(scale(4))
	assert.Equal(t, []int32{1, 3}, w.replicas())
}

// The waiting Pods are gone after the move. Without a stored condition, they would then come back to the subset.
func TestPodsMoveOnOnlyAfterTheConditionIsStored(t *testing.T) {
	w := newWorld(t, ofCloneSets(), adaptively(false, 3, 2, 2))
	w.settle()
	w.rounds("a", "c")
	fails := true
	w.Kruise.PrependReactor("update", "uniteddeployments", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fails, nil, apierrors.NewServiceUnavailable("the store is closed")
	})
	w.pass(30)
	w.Observe()
	_, err := w.Pass("ns", "web")
	require.ErrorContains(t, err, "the store is closed")
	assert.Equal(t, []int32{2, 1, 0}, w.replicas())
	fails = false
	w.rounds("a", "c")
	assert.Equal(t, []int32{2, 0, 1}, w.replicas())
	assert.Equal(t, "False reschedule", w.schedulable("b"))
}

func (w *world) reservedPods() (all []int32) {
	for _, status := range w.united().Status.SubsetStatuses {
		all = append(all, status.ReservedPods)
	}
	return all
}

// Case uniteddeployment 21.
func TestReservedPodsAreSubstituted(t *testing.T) {
	w := newWorld(t, ofCloneSets(), adaptively(true, 2))
	w.settle()
	w.rounds("c")
	assert.Equal(t, []int32{2, 0, 0}, w.replicas())
	for range 2 {
		w.pass(30)
		w.rounds("c")
	}
	assert.Equal(t, []int32{2, 2, 2}, w.replicas())
	assert.Equal(t, []int32{2, 2, 0}, w.reservedPods())
	status := w.united().Status
	assert.EqualValues(t, 2, status.Replicas)
	assert.EqualValues(t, 4, status.ReservedPods)
	assert.Equal(t, "app=web,apps.kruise.io/united-deployment-reserved-pod=false", status.LabelSelector)
	assert.Equal(t, []string{"False reschedule", "False reschedule", "True reschedule"},
		[]string{w.schedulable("a"), w.schedulable("b"), w.schedulable("c")})
	for _, pod := range w.Pods() {
		reserved := pod.Labels[pub.SubsetNameKey] != "c"
		assert.Equal(t, strconv.FormatBool(reserved), pod.Labels[pub.ReservedPodKey], pod.Name)
	}
	w.edit(scale(4))
	w.rounds("c")
	assert.Equal(t, []int32{2, 2, 4}, w.replicas())

	assert.Nil(t, w.maxUnavailable("a"), "without an update, that of the template stays")
	w.edit(image("web:2"))
	assert.EqualValues(t, 2, w.maxUnavailable("a").IntVal, "all pending Pods are updated at once")
	w.rounds("c")
	assert.Equal(t, []int32{2, 2, 0}, w.reservedPods())

	w.rounds("a", "c")
	assert.Equal(t, []int32{2, 2, 4}, w.replicas(), "repaired Pods must stay ready first")
	w.pass(300)
	w.rounds("a", "c")
	assert.Equal(t, []int32{4, 2, 2}, w.replicas())
	assert.Equal(t, "False reschedule", w.schedulable("a"), "a subset that just recovered grows on trial")
	w.pass(300)
	w.rounds("a", "c")
	assert.Equal(t, []int32{4, 0, 0}, w.replicas())
	assert.Equal(t, []int32{0, 0, 0}, w.reservedPods())
	for _, name := range []string{"a", "b", "c"} {
		assert.Equal(t, "True reschedule", w.schedulable(name))
	}
	w.edit(scale(5))
	w.rounds("a", "c")
	assert.Equal(t, []int32{5, 0, 0}, w.replicas())
}

func (w *world) maxUnavailable(subset string) *intstr.IntOrString {
	w.t.Helper()
	rolling := w.cloneSet(subset).Spec.UpdateStrategy.RollingUpdate
	require.NotNil(w.t, rolling)
	return rolling.MaxUnavailable
}

// An update begins while Pods have waited for a node for a short time only. When they have waited for too long, they hold it up.
func TestPodsThatBecomeReservedDoNotHoldUpTheUpdate(t *testing.T) {
	w := newWorld(t, ofCloneSets(), adaptively(true, 2))
	w.settle()
	w.run()
	w.settle()
	w.edit(image("web:2"))
	assert.Nil(t, w.maxUnavailable("a"))
	w.pass(30)
	w.settle()
	assert.Equal(t, []int32{2, 0, 0}, w.reservedPods())
	assert.EqualValues(t, 4, w.maxUnavailable("a").IntVal, "2 that are not ready, and 2 that are late")
	set := w.cloneSet("a")
	set.Status.ReadyReplicas = 1
	w.Update(set)
	w.settle()
	assert.EqualValues(t, 4, w.maxUnavailable("a").IntVal, "it is not written for each Pod")
}

func TestMaxUnavailableOfTheTemplateReturns(t *testing.T) {
	for name, edit := range map[string]func(*v1beta1.UnitedDeployment){
		"after the reserved Pods are ready": image("web:3"),
		"without reservation": func(u *v1beta1.UnitedDeployment) {
			image("web:3")(u)
			u.Spec.Topology.ScheduleStrategy.Adaptive.ReserveUnschedulablePods = false
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ofCloneSets(), adaptively(true, 2))
			w.settle()
			w.rounds("c")
			w.pass(30)
			w.rounds("c")
			w.edit(image("web:2"))
			assert.EqualValues(t, 2, w.maxUnavailable("a").IntVal)
			w.rounds("a", "b", "c")
			w.pass(300)
			w.rounds("a", "b", "c")
			assert.EqualValues(t, 0, w.reservedPods()[0])
			w.edit(edit)
			assert.Nil(t, w.maxUnavailable("a"))
		})
	}
}

// Case uniteddeployment 21.
func TestSubsetAddedLaterStartsOnTrial(t *testing.T) {
	w := newWorld(t, ofCloneSets(), adaptively(true, 2))
	w.settle()
	w.rounds("a")
	w.Observe()
	united := w.united()
	united.Spec.Topology.Subsets = append([]v1beta1.Subset{{Name: "d"}}, united.Spec.Topology.Subsets...)
	w.Update(united)
	w.Observe()
	_, err := w.Pass("ns", "web")
	require.NoError(t, err)
	assert.Equal(t, "False created", w.schedulable("d"))
	replicas := map[string]int32{}
	for name, workload := range w.workloads() {
		replicas[name] = *workload.(*v1beta1.CloneSet).Spec.Replicas
	}
	assert.Equal(t, map[string]int32{"a": 2, "b": 0, "c": 0, "d": 2}, replicas, "the others keep their Pods until those of d are ready")
}

// stuckWorld returns a world of StatefulSets of Kubernetes in an update from a broken image, and the Pod web-0 of subset a.
func stuckWorld(t *testing.T, edits ...func(*corev1.Pod)) (*world, string) {
	t.Helper()
	w := newWorld(t, ofStatefulSets(), scale(2))
	w.settle()
	old := w.united().Status.UpdatedRevision
	w.edit(image("web:2"))
	set := w.workloads()["a"].(*appsv1.StatefulSet)
	set.Status = appsv1.StatefulSetStatus{Replicas: 1, UpdateRevision: "new", ObservedGeneration: set.Generation}
	w.Update(set)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: set.Name + "-0", CreationTimestamp: metav1.NewTime(w.Clock.Now()), OwnerReferences: controlled(set, "StatefulSet"),
		Labels: with(set.Spec.Template.Labels, map[string]string{
			appsv1.StatefulSetRevisionLabel: "old", pub.KruiseControllerRevisionHashKey: old,
		}),
	}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	for _, edit := range edits {
		edit(pod)
	}
	w.Add(pod)
	return w, pod.Name
}

// Case uniteddeployment 16.
func TestStuckPodOfAStatefulSetIsDeleted(t *testing.T) {
	w, name := stuckWorld(t)
	assert.Equal(t, stuckAfter, w.Step("ns", "web"), "a Pod that only starts slowly stays")
	w.settle()
	assert.Len(t, w.Pods(), 1)
	w.pass(30)
	assert.Equal(t, []string{"delete pods " + name}, w.settle())
}

// A patch is not part of a revision of the UnitedDeployment, so a Pod that a patch has broken is at the newest one.
func TestPodThatAPatchOfItsSubsetBrokeIsDeleted(t *testing.T) {
	w, name := stuckWorld(t)
	w.edit(func(u *v1beta1.UnitedDeployment) {
		u.Spec.Topology.Subsets[0].Patch = &runtime.RawExtension{Raw: []byte(`{"spec":{"hostname":"right"}}`)}
	})
	set, pod := w.workloads()["a"].(*appsv1.StatefulSet), w.Pods()[0]
	pod.Labels[pub.KruiseControllerRevisionHashKey] = set.Labels[pub.KruiseControllerRevisionHashKey]
	w.Update(pod)
	set.Generation++
	w.Update(set)
	w.pass(30)
	assert.NotContains(t, w.settle(), "delete pods "+name, "the StatefulSet has not seen the patch yet")
	set.Status.ObservedGeneration = set.Generation
	w.Update(set)
	assert.Contains(t, w.settle(), "delete pods "+name)
	assert.Empty(t, w.Pods())
}

func TestPodsThatAreNotStuckStay(t *testing.T) {
	for name, edit := range map[string]func(*corev1.Pod){
		"updated by the StatefulSet": func(p *corev1.Pod) { p.Labels[appsv1.StatefulSetRevisionLabel] = "new" },
		"ready": func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := stuckWorld(t, edit)
			w.settle()
			w.pass(300)
			w.settle()
			assert.Len(t, w.Pods(), 1)
		})
	}
	t.Run("held by a partition", func(t *testing.T) {
		w, _ := stuckWorld(t)
		w.edit(func(u *v1beta1.UnitedDeployment) {
			u.Spec.UpdateStrategy.ManualUpdate = &v1beta1.ManualUpdate{Partitions: map[string]int32{"a": 1}}
		})
		w.pass(300)
		w.settle()
		assert.Len(t, w.Pods(), 1)
	})
}
