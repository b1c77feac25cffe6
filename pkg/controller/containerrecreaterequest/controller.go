package containerrecreaterequest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/readiness"
)

// Name is the controller's name in logs and metrics.
const Name = "containerrecreaterequest-controller"

const (
	// podIndex finds the unfinished requests by the UID of their Pod.
	podIndex = "unfinishedOfPod"
	// nodeIndex finds the unfinished requests by their node.
	nodeIndex = "unfinishedOnNode"
	// holderIndex finds Pods by the requests that keep them out of service, as namespace/name.
	holderIndex = "heldByRequest"
	// userAgent is the user agent of the readiness keys that requests add to a Pod's condition.
	userAgent = "ContainerRecreateRequest"
)

// Options are the options of this controller.
type Options struct {
	// Namespace is the namespace of the node agents.
	Namespace string
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the reconciler and its skeleton, so that tests can use the reconciler without a queue.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.ContainerRecreateRequest]) {
	pods, requests := deps.KubeInformers.Core().V1().Pods(), deps.KruiseInformers.Apps().V1beta1().ContainerRecreateRequests()
	r := &Reconciler{kube: deps.Kube, kruise: deps.Kruise, pods: pods.Lister(), clock: deps.Clock}
	c := controller.For(deps, Name, requests, r.Reconcile)
	// Keys without a request come from Pods that a deleted request still holds.
	c.Absent(r.sweep)
	r.requestIndex = c.Index(requests, podIndex, unfinished(pub.ContainerRecreateRequestPodUIDKey))
	r.podIndex = c.Index(pods, holderIndex, heldBy)
	c.Index(requests, nodeIndex, unfinished(pub.ContainerRecreateRequestNodeNameKey))
	// Requests do not own Pods. The UID and the condition of a Pod lead to its requests.
	c.Watch(pods, r.concerned, matters)
	// An agent that begins or ceases to work reconciles the requests of its node at once.
	r.agents = c.Agents(pods, deps.KubeInformers.Core().V1().Nodes(), options.Namespace, r.onNode)
	c.Forget(r.forget)
	return r, c
}

// unfinished returns an index of the unfinished requests by a label. Finished requests are not indexed, so changes of their Pods find
// nothing.
func unfinished(label string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		request, ok := obj.(*v1beta1.ContainerRecreateRequest)
		if !ok || request.Status.CompletionTime != nil {
			return nil, nil
		}
		return []string{request.Labels[label]}, nil
	}
}

// onNode returns the unfinished requests on a node.
func (r *Reconciler) onNode(node string) []types.NamespacedName { return r.unfinished(nodeIndex, node) }

// unfinished returns the unfinished requests that an index has under a value.
func (r *Reconciler) unfinished(index, value string) (keys []types.NamespacedName) {
	items, err := r.requestIndex.ByIndex(index, value)
	if err != nil {
		return nil // The index is added before any watch.
	}
	for _, item := range items {
		if request, ok := item.(metav1.Object); ok {
			keys = append(keys, types.NamespacedName{Namespace: request.GetNamespace(), Name: request.GetName()})
		}
	}
	return keys
}

// heldBy returns the names of the requests that keep a Pod out of service. The names come from the condition of the Pod itself, so
// nothing is forgotten when the controller restarts.
func heldBy(obj any) (names []string, _ error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	for _, key := range readiness.Keys(pod) {
		if key.UserAgent == userAgent {
			names = append(names, key.Key)
		}
	}
	return names, nil
}

// keyOf returns the readiness key of the request in its Pod's condition. It has the form namespace/name, which concerned reads back.
func keyOf(request types.NamespacedName) readiness.Key {
	return readiness.Key{UserAgent: userAgent, Key: request.String()}
}

// concerned returns the requests that a change of a Pod affects: the requests that restart its containers, and the requests that
// keep it out of service. The latter may already be deleted.
func (r *Reconciler) concerned(obj metav1.Object) (keys []types.NamespacedName) {
	keys = r.unfinished(podIndex, string(obj.GetUID()))
	names, _ := heldBy(obj)
	for _, name := range names {
		// A key of another namespace does not belong to a request for this Pod.
		if namespace, name, found := strings.Cut(name, "/"); found && namespace == obj.GetNamespace() {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return keys
}

// matters reports whether a change of a Pod affects requests. Most probe results and labels do not. A change of readiness keys
// counts, because a key of a deleted request must be removed. The phase counts, because nothing starts in a Pod that has ended.
func matters(before, after metav1.Object) bool {
	b, okBefore := before.(*corev1.Pod)
	a, okAfter := after.(*corev1.Pod)
	if !okBefore || !okAfter {
		return false
	}
	return b.UID != a.UID || b.Status.Phase != a.Status.Phase || (b.DeletionTimestamp == nil) != (a.DeletionTimestamp == nil) ||
		!apiequality.Semantic.DeepEqual(b.Status.ContainerStatuses, a.Status.ContainerStatuses) ||
		!slices.Equal(readiness.Keys(b), readiness.Keys(a))
}
