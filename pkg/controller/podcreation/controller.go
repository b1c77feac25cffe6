package podcreation

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// Name is the controller's name in logs, events and metrics.
const Name = "podcreation-controller"

// Options are the options of this controller.
type Options struct {
	// Namespace is the system namespace. Its Pods are never sent to admission.
	Namespace string
}

// Reconciler labels namespaces. Its fields are set before the controller starts, and only read afterwards.
type Reconciler struct {
	Options
	// kube writes namespaces, and live reads from the API server what the caches may not show yet.
	kube kubernetes.Interface
	live client.AppsV1beta1Interface
	// namespaces and sets are caches.
	namespaces corelisters.NamespaceLister
	sets       cache.Indexer
	// ofNamespaces are the kinds whose objects change the Pods of their own namespace.
	ofNamespaces []cache.Indexer
	clock        clock.PassiveClock
	unused       times
}

// New returns the controller. It returns an error if an informer rejects a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the Reconciler, and adds its watches to the informers.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*corev1.Namespace]) {
	namespaces, kruise := deps.KubeInformers.Core().V1().Namespaces(), deps.KruiseInformers.Apps().V1beta1()
	r := &Reconciler{
		Options: options, kube: deps.Kube, live: deps.Kruise.AppsV1beta1(), namespaces: namespaces.Lister(),
		sets: kruise.SidecarSets().Informer().GetIndexer(), clock: deps.Clock, unused: times{of: map[string]unusedNamespace{}},
	}
	c := controller.For(deps, Name, namespaces, r.Reconcile)
	c.WatchChanges(kruise.SidecarSets(), r.changedScope)
	for _, informer := range []controller.Informer{kruise.PersistentPodStates(), kruise.WorkloadSpreads()} {
		r.ofNamespaces = append(r.ofNamespaces, informer.Informer().GetIndexer())
		c.WatchChanges(informer, itsNamespace)
	}
	return r, c
}

// changedScope returns the namespaces whose Pods a SidecarSet selects, or selected before it changed. before is nil for a new
// SidecarSet, and after is nil for a deleted one. Changes that keep the namespace selector return none.
func (r *Reconciler) changedScope(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*v1beta1.SidecarSet)
	set, _ := after.(*v1beta1.SidecarSet)
	if old != nil && set != nil && apiequality.Semantic.DeepEqual(old.Spec.NamespaceSelector, set.Spec.NamespaceSelector) {
		return nil
	}
	namespaces, err := r.namespaces.List(labels.Everything())
	if err != nil {
		return nil
	}
	for _, namespace := range namespaces {
		if old != nil && sidecar.SelectsNamespace(old, namespace.Labels) || set != nil && sidecar.SelectsNamespace(set, namespace.Labels) {
			keys = append(keys, controller.Self(namespace)...)
		}
	}
	return keys
}

// itsNamespace returns the namespace of an object that is created or deleted. Updates do not change whether the namespace has
// one.
func itsNamespace(before, after metav1.Object) []types.NamespacedName {
	switch {
	case before == nil && after != nil:
		return []types.NamespacedName{{Name: after.GetNamespace()}}
	case before != nil && after == nil:
		return []types.NamespacedName{{Name: before.GetNamespace()}}
	}
	return nil
}
