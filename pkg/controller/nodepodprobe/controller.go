package nodepodprobe

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1alpha1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/podprobe"
)

// Name is the controller's name in logs, events and metrics.
const Name = "nodepodprobe-controller"

// onNodeIndex finds Pods by their node.
const onNodeIndex = "podNode"

var resource = v1alpha1.SchemeGroupVersion.WithResource("nodepodprobes")

// Reconciler reconciles NodePodProbes. Its fields are set before the controller starts, and only read afterwards.
type Reconciler struct {
	// kube writes Pods, and kruise writes NodePodProbes. nodes and markers are caches.
	kube    kubernetes.Interface
	kruise  versioned.Interface
	nodes   corelisters.NodeLister
	markers listers.PodProbeMarkerLister
	// nodePodProbes and pods have indexes: by the PodProbeMarkers and the Pods that are listed, and by the node.
	nodePodProbes, pods cache.Indexer
	// selecting lists the PodProbeMarkers that select a Pod, and selected the Pods that a PodProbeMarker selects.
	selecting func(pod metav1.Object) []*v1alpha1.PodProbeMarker
	selected  func(namespace string, selector labels.Selector) ([]*corev1.Pod, error)
	// guard stops a pass until the caches show the specs and the Pods that the last pass wrote.
	guard    *consistency.Guard
	recorder record.EventRecorder
	clock    clock.PassiveClock
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	_, c := build(deps)
	return c.Build()
}

// build makes the Reconciler, and adds its indexes and watches to the informers.
func build(deps controller.Deps) (*Reconciler, *controller.Of[*v1alpha1.NodePodProbe]) {
	core, ours := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1alpha1()
	r := &Reconciler{
		kube: deps.Kube, kruise: deps.Kruise, nodes: core.Nodes().Lister(), markers: ours.PodProbeMarkers().Lister(),
		recorder: deps.Recorder(Name), clock: deps.Clock,
	}
	c := controller.For(deps, Name, ours.NodePodProbes(), r.Reconcile)
	// A node without a NodePodProbe gets one.
	c.Absent(r.create)
	c.Guards(resource, ours.NodePodProbes())
	c.Guards(engine.PodResource, core.Pods())
	r.guard = c.Guard()
	r.pods = c.Index(core.Pods(), onNodeIndex, onNode)
	for name, values := range podprobe.Indexers() {
		r.nodePodProbes = c.Index(ours.NodePodProbes(), name, values)
	}
	r.selected = c.PodsByLabels(core.Pods())
	r.selecting = controller.SelectorsOf(c, ours.PodProbeMarkers(), func(m *v1alpha1.PodProbeMarker) *metav1.LabelSelector {
		return m.Spec.Selector
	})
	c.Watch(core.Nodes(), controller.Self, nodeChanged)
	c.WatchChanges(core.Pods(), r.changedPod)
	c.WatchChanges(ours.PodProbeMarkers(), r.changedMarker)
	return r, c
}

// onNode is the index function of onNodeIndex. Pods that the agent does not probe are not in the index.
func onNode(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && podprobe.OnNode(pod) {
		return []string{pod.Spec.NodeName}, nil
	}
	return nil, nil
}
