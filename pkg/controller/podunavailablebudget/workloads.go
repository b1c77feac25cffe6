package podunavailablebudget

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workloadclient"
)

// workloads finds the workloads that budgets count from. It reads caches if the kind is watched, else the API server. Its
// fields are not changed after newWorkloads.
type workloads struct {
	// informers and cached have the watched kinds that own Pods, directly or through another kind.
	informers map[schema.GroupKind]controller.Informer
	cached    map[schema.GroupKind]cache.Indexer
	// clients reads kinds of the table, and custom the objects of all other kinds and their scales.
	clients workloadclient.Clients
	custom  workloadclient.Custom
	// listed has the kinds whose number of replicas is found without a scale.
	listed *controller.ListedKinds
}

// newWorkloads asks for the informers of all kinds with Pods, so the controller waits for their caches.
func newWorkloads(deps controller.Deps, namespace string) *workloads {
	w := &workloads{
		informers: controller.Workloads(deps, (*kinds.Kind).HasPods), cached: map[schema.GroupKind]cache.Indexer{},
		clients: workloadclient.Clients{Kube: deps.Kube, Kruise: deps.Kruise},
		custom:  workloadclient.Custom{Kube: deps.Kube, Dynamic: deps.Dynamic, Mapper: deps.Mapper, Namespace: namespace},
		listed:  controller.NewListedKinds(deps, namespace),
	}
	// The informers belong to the program, so their caches are shared with other controllers.
	for kind, informer := range w.informers {
		w.cached[kind] = informer.Informer().GetIndexer()
	}
	return w
}

// through reports whether objects of a kind own Pods on behalf of another kind.
func through(kind schema.GroupKind) bool {
	return len(kinds.Names(func(above *kinds.Kind) bool { return above.Through != nil && *above.Through == kind })) > 0
}

// identify returns the workload for a watched object, and the labels of its Pods. known is false if the object is not of a kind
// of the table. template is nil if the kind has no Pod template.
func identify(obj metav1.Object) (workload disruption.Workload, template map[string]string, known bool) {
	kind := kinds.OfObject(obj)
	object, ok := obj.(kinds.Object)
	if kind == nil || !ok {
		return disruption.Workload{}, nil, false
	}
	if kind.Template != nil {
		template = kind.Template(object).Labels
	}
	return disruption.Workload{GroupKind: kind.GroupKind, Name: obj.GetName()}, template, true
}

// replicasOf returns the wanted number of Pods, or nil if every existing Pod counts as wanted. A Job, for example, has no
// replicas.
func replicasOf(obj any) *int32 {
	kind := kinds.OfObject(obj)
	object, ok := obj.(kinds.Object)
	if kind == nil || !ok || kind.Replicas == nil {
		return nil
	}
	return kind.Replicas(object)
}

// above returns the controller of a Pod, followed by the controller of that controller, if the caches have it. It returns nil
// for a Pod without a controller. The UID is compared because a new object can have the name of the old one, with another
// controller.
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

// lookUp returns a workload of a cached kind, or nil.
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

// size is what a budget counts from, for one workload.
type size struct {
	// uid finds the Pods that the workload owns. replicas is the number that it wants.
	uid      types.UID
	replicas int32
	// uncounted is true if the workload has no number of replicas. Every existing Pod then counts as wanted.
	uncounted bool
	// selector selects the Pods of a workload that does not own them.
	selector string
	// unreadable is the resource of the workload if the controllers may not read it or its scale, else it is empty. The Pods are then
	// those that name the workload, because its UID or its selector is not known.
	unreadable schema.GroupResource
	// failed is why the workload could not be read, for example because the server of its kind is down.
	failed error
}

// find returns the size of a workload, or nil if the workload is deleted or being deleted. Kinds in the cache cost no request. An error
// ends the count; a workload that cannot be read does not.
func (w *workloads) find(ctx context.Context, namespace string, workload disruption.Workload) (*size, error) {
	if _, cached := w.cached[workload.GroupKind]; cached {
		object := w.lookUp(workload.GroupKind, namespace, workload.Name)
		if object == nil {
			return nil, nil
		}
		return sizeOf(object, replicasOf(object)), nil
	}
	found, err := w.ask(ctx, namespace, workload)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil {
		return found, nil
	}
	err = fmt.Errorf("look up %s %s: %w", workload.Kind, workload.Name, err)
	if ctx.Err() != nil {
		return nil, err
	}
	return &size{uncounted: true, failed: err}, nil
}
