package podunavailablebudget

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/disruption"
)

var (
	deployment     = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	replicaSet     = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	statefulSet    = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	daemonSet      = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	cloneSet       = schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}
	ourStatefulSet = schema.GroupKind{Group: "apps.kruise.io", Kind: "StatefulSet"}
	ourDaemonSet   = schema.GroupKind{Group: "apps.kruise.io", Kind: "DaemonSet"}
)

// workloads finds what budgets count from: in caches where the kind is one of the usual ones, else on the server.
type workloads struct {
	cached  map[schema.GroupKind]cache.Indexer
	kube    kubernetes.Interface
	kruise  versioned.Interface
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
}

func newWorkloads(deps controller.Deps) (*workloads, error) {
	w := &workloads{
		cached: map[schema.GroupKind]cache.Indexer{}, kube: deps.Kube, kruise: deps.Kruise, dynamic: deps.Dynamic, mapper: deps.Mapper,
	}
	for kind, informer := range w.informers(deps) {
		w.cached[kind] = informer.GetIndexer()
	}
	for _, informer := range []cache.SharedIndexInformer{
		deps.KubeInformers.Core().V1().Pods().Informer(), deps.KubeInformers.Apps().V1().ReplicaSets().Informer(),
	} {
		if err := controller.IndexByOwner(informer); err != nil {
			return nil, fmt.Errorf("index by owner: %w", err)
		}
	}
	return w, nil
}

// informers are those of the kinds whose changes are seen.
func (*workloads) informers(deps controller.Deps) map[schema.GroupKind]cache.SharedIndexInformer {
	return map[schema.GroupKind]cache.SharedIndexInformer{
		deployment:     deps.KubeInformers.Apps().V1().Deployments().Informer(),
		replicaSet:     deps.KubeInformers.Apps().V1().ReplicaSets().Informer(),
		statefulSet:    deps.KubeInformers.Apps().V1().StatefulSets().Informer(),
		cloneSet:       deps.KruiseInformers.Apps().V1beta1().CloneSets().Informer(),
		ourStatefulSet: deps.KruiseInformers.Apps().V1beta1().StatefulSets().Informer(),
	}
}

// identify names a workload whose changes are seen, and returns the labels of its Pods.
func identify(obj metav1.Object) (workload disruption.Workload, template map[string]string, known bool) {
	name := obj.GetName()
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return disruption.Workload{GroupKind: deployment, Name: name}, o.Spec.Template.Labels, true
	case *appsv1.ReplicaSet:
		return disruption.Workload{GroupKind: replicaSet, Name: name}, o.Spec.Template.Labels, true
	case *appsv1.StatefulSet:
		return disruption.Workload{GroupKind: statefulSet, Name: name}, o.Spec.Template.Labels, true
	case *v1beta1.CloneSet:
		return disruption.Workload{GroupKind: cloneSet, Name: name}, o.Spec.Template.Labels, true
	case *v1beta1.StatefulSet:
		return disruption.Workload{GroupKind: ourStatefulSet, Name: name}, o.Spec.Template.Labels, true
	}
	return disruption.Workload{}, nil, false
}

// replicasOf is what the spec of a workload wants, 1 where it does not say.
func replicasOf(obj any) int32 {
	var replicas *int32
	switch o := obj.(type) {
	case *appsv1.Deployment:
		replicas = o.Spec.Replicas
	case *appsv1.ReplicaSet:
		replicas = o.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = o.Spec.Replicas
	case *v1beta1.CloneSet:
		replicas = o.Spec.Replicas
	case *v1beta1.StatefulSet:
		replicas = o.Spec.Replicas
	}
	if replicas == nil {
		return 1
	}
	return *replicas
}

// above returns what controls a Pod, and what controls that, as far as the caches know.
func (w *workloads) above(pod *corev1.Pod) []disruption.Workload {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil
	}
	first := disruption.WorkloadOf(ref.APIVersion, ref.Kind, ref.Name)
	chain := []disruption.Workload{first}
	if owner := w.lookUp(first.GroupKind, pod.Namespace, ref.Name); owner != nil && owner.GetUID() == ref.UID {
		if second := metav1.GetControllerOfNoCopy(owner); second != nil {
			chain = append(chain, disruption.WorkloadOf(second.APIVersion, second.Kind, second.Name))
		}
	}
	return chain
}

// lookUp returns a workload of a kind that is cached, or nil.
func (w *workloads) lookUp(kind schema.GroupKind, namespace, name string) metav1.Object {
	indexer, cached := w.cached[kind]
	if !cached {
		return nil
	}
	item, found, err := indexer.GetByKey(namespace + "/" + name)
	if err != nil || !found {
		return nil
	}
	object, _ := item.(metav1.Object)
	return object
}

// size is what a budget counts from, of one workload.
type size struct {
	uid      types.UID
	replicas int32
	// uncounted is true where the workload does not say how many it wants: it is as many as there are.
	uncounted bool
	// selector selects the Pods of a workload that does not own them.
	selector string
}

// find returns the size of a workload, or nil when it is gone or goes.
func (w *workloads) find(ctx context.Context, namespace, version string, workload disruption.Workload) (*size, error) {
	if _, cached := w.cached[workload.GroupKind]; cached {
		object := w.lookUp(workload.GroupKind, namespace, workload.Name)
		if object == nil || object.GetDeletionTimestamp() != nil {
			return nil, nil
		}
		return &size{uid: object.GetUID(), replicas: replicasOf(object)}, nil
	}
	found, err := w.ask(ctx, namespace, version, workload)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s %s: %w", workload.Kind, workload.Name, err)
	}
	return found, nil
}
