package jobsidecarterminator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/reconcile"
)

// Name is the controller's name in logs, events and metrics.
const Name = "sidecarterminator-controller"

var (
	requestResource = v1beta1.SchemeGroupVersion.WithResource("containerrecreaterequests")
	podResource     = corev1.SchemeGroupVersion.WithResource("pods")
)

// Reconciler ends the sidecars of Pods.
type Reconciler struct {
	// kube writes Pods, and kruise writes requests.
	kube   kubernetes.Interface
	kruise versioned.Interface
	// nodes is read for the label that marks virtual nodes. requests finds requests by the UID of their Pod.
	nodes    corelisters.NodeLister
	requests cache.Indexer
	// guard gets the writes to requests and Pods, so that no pass makes a second request.
	guard    *consistency.Guard
	recorder record.EventRecorder
	clock    clock.PassiveClock
	// retries is the only state in memory.
	retries retries
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	return build(deps).Build()
}

// build returns the controller under construction, for tests.
func build(deps controller.Deps) *controller.Of[*corev1.Pod] {
	pods, nodes := deps.KubeInformers.Core().V1().Pods(), deps.KubeInformers.Core().V1().Nodes()
	r := &Reconciler{
		kube: deps.Kube, kruise: deps.Kruise, nodes: nodes.Lister(), recorder: deps.Recorder(Name), clock: deps.Clock,
		retries: retries{clock: deps.Clock},
	}
	c := controller.For(deps, Name, pods, r.Reconcile)
	// Most Pods of a cluster are left out before they enter the queue.
	c.When(concerned)
	c.Forget(func(pod *corev1.Pod) { r.retries.forget(pod.UID) })
	r.requests = c.Owns(requestResource, deps.KruiseInformers.Apps().V1beta1().ContainerRecreateRequests())
	c.Guards(podResource, pods)
	r.guard = c.Guard()
	return c
}
