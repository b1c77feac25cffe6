package uniteddeployment

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/controllertest"
)

var appLabels = map[string]string{"app": "web"}

// world is a UnitedDeployment named web with the subsets a and b, and the servers that store its workloads.
type world struct {
	*controllertest.Fixture
	t testing.TB
}

func podTemplate(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: appLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func zone(value string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
	}}
}

func ofCloneSets() v1beta1.SubsetTemplate {
	return v1beta1.SubsetTemplate{CloneSetTemplate: &v1beta1.CloneSetTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: appLabels}, Spec: v1beta1.CloneSetSpec{Template: podTemplate("web:1")},
	}}
}

func ofStatefulSets() v1beta1.SubsetTemplate {
	return v1beta1.SubsetTemplate{StatefulSetTemplate: &v1beta1.StatefulSetTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: appLabels}, Spec: appsv1.StatefulSetSpec{Template: podTemplate("web:1")},
	}}
}

func ofAdvancedStatefulSets() v1beta1.SubsetTemplate {
	return v1beta1.SubsetTemplate{AdvancedStatefulSetTemplate: &v1beta1.AdvancedStatefulSetTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: appLabels}, Spec: v1beta1.StatefulSetSpec{Template: podTemplate("web:1")},
	}}
}

func ofDeployments() v1beta1.SubsetTemplate {
	return v1beta1.SubsetTemplate{DeploymentTemplate: &v1beta1.DeploymentTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: appLabels}, Spec: appsv1.DeploymentSpec{Template: podTemplate("web:1")},
	}}
}

func newWorld(t testing.TB, template v1beta1.SubsetTemplate, edits ...func(*v1beta1.UnitedDeployment)) *world {
	t.Helper()
	united := &v1beta1.UnitedDeployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web", Generation: 1},
		Spec: v1beta1.UnitedDeploymentSpec{
			Replicas: ptr.To[int32](5), Selector: &metav1.LabelSelector{MatchLabels: appLabels}, Template: template,
			RevisionHistoryLimit: ptr.To[int32](10),
			Topology: v1beta1.Topology{Subsets: []v1beta1.Subset{
				{Name: "a", NodeSelectorTerm: zone("a")},
				{Name: "b", NodeSelectorTerm: zone("b"), Tolerations: []corev1.Toleration{{Key: "b", Operator: corev1.TolerationOpExists}}},
			}},
		},
	}
	for _, edit := range edits {
		edit(united)
	}
	f := controllertest.New(t, "", united)
	names := 0
	name := func(action clienttesting.Action) (bool, runtime.Object, error) {
		if create, ok := action.(clienttesting.CreateAction); ok {
			object, err := meta.Accessor(create.GetObject())
			if err == nil && object.GetName() == "" {
				names++
				object.SetName(fmt.Sprintf("%s%05d", object.GetGenerateName(), names))
				object.SetCreationTimestamp(metav1.NewTime(f.Clock.Now()))
				object.SetUID(types.UID("uid-of-" + object.GetName()))
			}
		}
		return false, nil, nil
	}
	f.Kube.PrependReactor("create", "*", name)
	f.Kruise.PrependReactor("create", "*", name)
	f.Control(build(f.Deps))
	return &world{Fixture: f, t: t}
}

// settle reconciles until nothing more is written, and returns the writes.
func (w *world) settle() []string {
	w.t.Helper()
	return w.Converge("ns", "web")
}

func (w *world) united() *v1beta1.UnitedDeployment {
	w.t.Helper()
	united, err := w.Kruise.AppsV1beta1().UnitedDeployments("ns").Get(w.t.Context(), "web", metav1.GetOptions{})
	require.NoError(w.t, err)
	return united
}

// edit changes the UnitedDeployment as a user does, and reconciles it.
func (w *world) edit(edit func(*v1beta1.UnitedDeployment)) []string {
	w.t.Helper()
	united := w.united()
	edit(united)
	united.Generation++
	w.Update(united)
	w.Writes()
	return w.settle()
}

// workloads returns the workloads of all kinds by the names of their subsets.
func (w *world) workloads() map[string]controller.Object {
	w.t.Helper()
	all, found := map[string]controller.Object{}, []controller.Object{}
	cloneSets, err := w.Kruise.AppsV1beta1().CloneSets("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range cloneSets.Items {
		found = append(found, &cloneSets.Items[i])
	}
	advanced, err := w.Kruise.AppsV1beta1().StatefulSets("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range advanced.Items {
		found = append(found, &advanced.Items[i])
	}
	statefulSets, err := w.Kube.AppsV1().StatefulSets("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range statefulSets.Items {
		found = append(found, &statefulSets.Items[i])
	}
	deployments, err := w.Kube.AppsV1().Deployments("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range deployments.Items {
		found = append(found, &deployments.Items[i])
	}
	for _, workload := range found {
		name := workload.GetLabels()[pub.SubsetNameKey]
		require.NotContains(w.t, all, name)
		all[name] = workload
	}
	return all
}

// replicas returns the replicas of the workloads of a, b and c, as far as they exist.
func (w *world) replicas() (all []int32) {
	w.t.Helper()
	workloads := w.workloads()
	for _, name := range []string{"a", "b", "c"} {
		switch workload := workloads[name].(type) {
		case *v1beta1.CloneSet:
			all = append(all, *workload.Spec.Replicas)
		case *v1beta1.StatefulSet:
			all = append(all, *workload.Spec.Replicas)
		case *appsv1.StatefulSet:
			all = append(all, *workload.Spec.Replicas)
		case *appsv1.Deployment:
			all = append(all, *workload.Spec.Replicas)
		}
	}
	return all
}

// held returns the partitions of the workloads.
func (w *world) held() map[string]int32 {
	w.t.Helper()
	all := map[string]int32{}
	for name, workload := range w.workloads() {
		switch set := workload.(type) {
		case *v1beta1.CloneSet:
			all[name] = set.Spec.UpdateStrategy.RollingUpdate.Partition.IntVal
		case *v1beta1.StatefulSet:
			all[name] = *set.Spec.UpdateStrategy.RollingUpdate.Partition
		case *appsv1.StatefulSet:
			all[name] = *set.Spec.UpdateStrategy.RollingUpdate.Partition
		}
	}
	return all
}

// shares returns the replicas of the subsets that the status names, and partitions their partitions.
func (w *world) shares() map[string]int32 {
	w.t.Helper()
	all := map[string]int32{}
	for _, status := range w.united().Status.SubsetStatuses {
		all[status.Name] = status.Replicas
	}
	return all
}

func (w *world) partitions() map[string]int32 {
	w.t.Helper()
	all := map[string]int32{}
	for _, status := range w.united().Status.SubsetStatuses {
		all[status.Name] = status.Partition
	}
	return all
}

func (w *world) cloneSet(subset string) *v1beta1.CloneSet {
	w.t.Helper()
	set, ok := w.workloads()[subset].(*v1beta1.CloneSet)
	require.True(w.t, ok, "subset %s has no CloneSet", subset)
	return set
}

// run is what the controllers of CloneSets, the scheduler and the kubelets do: each CloneSet gets its Pods, all at its revision. A Pod
// is ready if its subset is healthy, and unschedulable otherwise.
func (w *world) run(healthy ...string) {
	w.t.Helper()
	for name, workload := range w.workloads() {
		set, ok := workload.(*v1beta1.CloneSet)
		if !ok {
			continue
		}
		pods := w.podsOf(set)
		for i := len(pods); i < int(*set.Spec.Replicas); i++ {
			w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: fmt.Sprintf("%s-%d", set.Name, i), CreationTimestamp: metav1.NewTime(w.Clock.Now()),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, v1beta1.SchemeGroupVersion.WithKind("CloneSet"))},
			}})
		}
		for _, pod := range pods[min(len(pods), int(*set.Spec.Replicas)):] {
			require.NoError(w.t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", pod.Name))
		}
		set.Status = v1beta1.CloneSetStatus{ObservedGeneration: set.Generation, Replicas: *set.Spec.Replicas}
		for _, pod := range w.podsOf(set) {
			reserved := pod.Labels[pub.ReservedPodKey]
			pod.Labels = with(set.Spec.Template.Labels)
			if reserved != "" {
				pod.Labels[pub.ReservedPodKey] = reserved
			}
			if slices.Contains(healthy, name) {
				set.Status.ReadyReplicas++
				w.ready(pod)
			} else {
				pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				}}}
			}
			w.Update(pod)
		}
		w.Update(set)
	}
}

// ready makes a Pod ready now, unless it is ready already.
func (w *world) ready(pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodRunning {
		return
	}
	pod.Spec.NodeName = "node"
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.Clock.Now()),
	}}}
}

func (w *world) podsOf(owner metav1.Object) (pods []*corev1.Pod) {
	w.t.Helper()
	for _, pod := range w.Pods() {
		if metav1.IsControlledBy(pod, owner) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// rounds lets the surroundings and the controller run in turn until nothing changes.
func (w *world) rounds(healthy ...string) {
	w.t.Helper()
	for range 10 {
		w.run(healthy...)
		w.Writes()
		if len(w.settle()) == 0 {
			return
		}
	}
}

// pass lets time pass.
func (w *world) pass(seconds int) {
	w.Clock.SetTime(w.Clock.Now().Add(time.Duration(seconds) * time.Second))
}
