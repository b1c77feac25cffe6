package podprobemarker

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1alpha1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/podprobe"
)

// Name is the controller's name in logs, events and metrics.
const Name = "podprobemarker-controller"

var resource = v1alpha1.SchemeGroupVersion.WithResource("podprobemarkers")

// Reconciler reconciles PodProbeMarkers, and marks Pods on virtual nodes. Its fields are set before the controller starts. pace
// has a lock of its own.
type Reconciler struct {
	// kube writes Pods, and kruise writes PodProbeMarkers. nodes, pods, markers and nodePodProbes are caches.
	kube          kubernetes.Interface
	kruise        versioned.Interface
	nodes         corelisters.NodeLister
	pods          corelisters.PodLister
	markers       listers.PodProbeMarkerLister
	nodePodProbes cache.Indexer
	// selected lists the Pods that a selector selects, and selecting the PodProbeMarkers that select a Pod.
	selected  controller.SelectedPods
	selecting func(pod metav1.Object) []*v1alpha1.PodProbeMarker
	// guard stops a pass until the caches show the writes of the last one. pace delays passes over many Pods.
	guard *consistency.Guard
	clock clock.PassiveClock
	pace  *engine.Pace
	// serverless enables marks on Pods of virtual nodes.
	serverless bool
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	_, c := build(deps)
	return c.Build()
}

// build makes the Reconciler, and adds its indexes and watches to the informers.
func build(deps controller.Deps) (*Reconciler, *controller.Of[*v1alpha1.PodProbeMarker]) {
	core, ours := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1alpha1()
	r := &Reconciler{
		kube: deps.Kube, kruise: deps.Kruise, nodes: core.Nodes().Lister(), pods: core.Pods().Lister(),
		markers: ours.PodProbeMarkers().Lister(), clock: deps.Clock, pace: engine.NewPace(deps.Clock),
		serverless: deps.Features.Enabled(features.EnablePodProbeMarkerOnServerless),
	}
	c := controller.For(deps, Name, ours.PodProbeMarkers(), r.Reconcile)
	// Keys with podPrefix are Pods on virtual nodes, so no PodProbeMarker is found for them.
	c.Absent(r.absent)
	c.Guards(resource, ours.PodProbeMarkers())
	c.Guards(engine.PodResource, core.Pods())
	r.guard = c.Guard()
	r.selected = c.PodsByLabels(core.Pods())
	r.selecting = controller.SelectorsOf(c, ours.PodProbeMarkers(), func(m *v1alpha1.PodProbeMarker) *metav1.LabelSelector {
		return m.Spec.Selector
	})
	for name, values := range podprobe.Indexers() {
		r.nodePodProbes = c.Index(ours.NodePodProbes(), name, values)
	}
	c.WatchChanges(core.Pods(), r.changedPod)
	c.WatchChanges(ours.NodePodProbes(), changedProbes)
	c.Forget(func(marker *v1alpha1.PodProbeMarker) { r.pace.Forget(marker.UID) })
	return r, c
}

// podPrefix marks keys of Pods. No PodProbeMarker has a slash in its name.
const podPrefix = "pod/"

// changedPod returns the PodProbeMarkers whose status a change of a Pod concerns. It also returns a key of the Pod, if it is on
// a virtual node and its conditions changed. The status counts Pods that can be probed, so only changes of this and of the
// labels concern it.
func (r *Reconciler) changedPod(before, after metav1.Object) (keys []types.NamespacedName) {
	b, _ := before.(*corev1.Pod)
	a, _ := after.(*corev1.Pod)
	if r.serverless && a != nil && (b == nil || !sameConditions(b, a)) && r.virtual(a) && len(r.markersOf(a)) > 0 {
		keys = append(keys, types.NamespacedName{Namespace: a.Namespace, Name: podPrefix + a.Name})
	}
	// The Pod is counted as before.
	if a != nil && b != nil && podprobe.OnNode(a) == podprobe.OnNode(b) && maps.Equal(a.Labels, b.Labels) {
		return keys
	}
	for _, pod := range []*corev1.Pod{b, a} {
		if pod == nil || !podprobe.OnNode(pod) {
			continue
		}
		for _, marker := range r.selecting(pod) {
			keys = append(keys, types.NamespacedName{Namespace: marker.Namespace, Name: marker.Name})
		}
	}
	return keys
}

// sameConditions reports whether the statuses of all conditions are the same. Their messages and times do not change marks.
func sameConditions(before, after *corev1.Pod) bool {
	statuses := func(pod *corev1.Pod) map[corev1.PodConditionType]corev1.ConditionStatus {
		all := map[corev1.PodConditionType]corev1.ConditionStatus{}
		for i := range pod.Status.Conditions {
			all[pod.Status.Conditions[i].Type] = pod.Status.Conditions[i].Status
		}
		return all
	}
	return maps.Equal(statuses(before), statuses(after))
}

// changedProbes returns the PodProbeMarkers whose probes in a NodePodProbe changed. The status of a NodePodProbe, which its
// agent writes often, does not change the generation.
func changedProbes(before, after metav1.Object) (keys []types.NamespacedName) {
	b, _ := before.(*v1alpha1.NodePodProbe)
	a, _ := after.(*v1alpha1.NodePodProbe)
	// A generation of zero means that the server does not count generations.
	if a != nil && b != nil && a.UID == b.UID && a.Generation == b.Generation && a.Generation > 0 {
		return nil
	}
	// Of the entries that changed, the PodProbeMarkers before and after are concerned.
	was, is := entriesOf(b), entriesOf(a)
	changed := sets.New[types.NamespacedName]()
	for uid := range sets.KeySet(was).Union(sets.KeySet(is)) {
		if apiequality.Semantic.DeepEqual(was[uid], is[uid]) {
			continue
		}
		for _, entry := range []*v1alpha1.PodProbe{was[uid], is[uid]} {
			if entry == nil {
				continue
			}
			for _, name := range podprobe.Selected(entry) {
				changed.Insert(types.NamespacedName{Namespace: entry.Namespace, Name: name})
			}
		}
	}
	return changed.UnsortedList()
}

// entriesOf returns the entries of a NodePodProbe by the UID of their Pod. A nil NodePodProbe has none. The values point into
// the object.
func entriesOf(object *v1alpha1.NodePodProbe) map[string]*v1alpha1.PodProbe {
	entries := map[string]*v1alpha1.PodProbe{}
	if object == nil {
		return entries
	}
	for i := range object.Spec.PodProbes {
		entries[object.Spec.PodProbes[i].UID] = &object.Spec.PodProbes[i]
	}
	return entries
}
