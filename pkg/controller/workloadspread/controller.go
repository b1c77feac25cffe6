package workloadspread

import (
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	lru "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/spread"
	"kruise.io/kruise/pkg/workload/subset"
	"kruise.io/kruise/pkg/workloadclient"
)

// Name is the controller's name in logs, events and metrics.
const Name = "workloadspread-controller"

const (
	// revisionKey is the annotation with the number of a ReplicaSet's revision.
	revisionKey = "deployment.kubernetes.io/revision"
	// ownersKept is how many owners of Pods are remembered that stand between a custom workload and its Pods.
	ownersKept = 10000
	// longestRetry limits the delay after a failure. Admission and scale-in depend on the counts.
	longestRetry = 10 * time.Second
)

var resource = v1beta1.SchemeGroupVersion.WithResource("workloadspreads")

// Options are the options of this controller.
type Options struct {
	// Namespace is the system namespace, which has the administrator's list of custom workloads.
	Namespace string
}

// Reconciler reconciles WorkloadSpreads. Its fields are set before the controller starts. overflows, above and unreadable may be used
// concurrently.
type Reconciler struct {
	Options
	kube   kubernetes.Interface
	client client.WorkloadSpreadsGetter
	// spreads finds WorkloadSpreads by their target, and pods finds Pods by their owner.
	spreads cache.Indexer
	pods    cache.Indexer
	nodes   corelisters.NodeLister
	// workloads are the caches of the known kinds.
	workloads map[schema.GroupKind]cache.Indexer
	// sets are ReplicaSets by their owner.
	sets cache.Indexer
	// custom reads workloads of other kinds.
	custom   workloadclient.Custom
	guard    engine.Guard
	recorder record.EventRecorder
	// unreadable keeps each pass from repeating the same event.
	unreadable *controller.Unreadable
	clock      clock.PassiveClock
	// overflows are the numbers of Pods without a slot that events have told, by the UIDs of WorkloadSpreads.
	overflows sync.Map
	// above caches the UIDs of the controllers of objects that stand between a custom workload and its Pods.
	above *lru.LRUExpireCache
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the Reconciler, and adds its indexes and watches to the informers.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.WorkloadSpread]) {
	if deps.Options.MaxDelay == 0 || deps.Options.MaxDelay > longestRetry {
		deps.Options.MaxDelay = longestRetry
	}
	core, spreads := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().WorkloadSpreads()
	r := &Reconciler{
		Options: options, kube: deps.Kube, client: deps.Kruise.AppsV1beta1(), nodes: core.Nodes().Lister(), clock: deps.Clock,
		custom:    workloadclient.Custom{Kube: deps.Kube, Dynamic: deps.Dynamic, Mapper: deps.Mapper, Namespace: options.Namespace},
		workloads: map[schema.GroupKind]cache.Indexer{}, above: lru.NewLRUExpireCacheWithClock(ownersKept, deps.Clock),
	}
	c := controller.For(deps, Name, spreads, r.Reconcile)
	c.Guards(resource, spreads)
	c.Guards(engine.PodResource, core.Pods())
	r.guard, r.recorder = c.Guard(), c.Recorder()
	r.unreadable = controller.NewUnreadable(r.recorder)
	c.Forget(func(object *v1beta1.WorkloadSpread) {
		r.overflows.Delete(object.UID)
		r.unreadable.Forget(types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
	})
	// The index finds the WorkloadSpreads of a workload.
	for name, values := range spread.Indexers() {
		r.spreads = c.Index(spreads, name, values)
	}
	r.pods = c.IndexByOwner(core.Pods())
	c.WatchChanges(core.Pods(), r.podChanged)
	informers := controller.Workloads(deps, func(kind *kinds.Kind) bool { return kind.Spread })
	// The table of kinds does not mark Jobs as watched, but a WorkloadSpread can have them as its target.
	informers[kinds.Job] = deps.KubeInformers.Batch().V1().Jobs()
	for kind, informer := range informers {
		r.workloads[kind] = informer.Informer().GetIndexer()
		c.WatchChanges(informer, r.workloadChanged(kind))
	}
	// A Deployment's Pods are found through its ReplicaSets.
	r.sets = c.IndexByOwner(informers[kinds.ReplicaSet])
	return r, c
}

// podChanged returns the WorkloadSpreads for which a change of a Pod matters. A Pod without the annotation, or with that of another
// WorkloadSpread, matters if admission did not see it: it has a node already, and it is older than the WorkloadSpread or a slot is
// free. A Pod that found no slot does not matter. before is nil for a new Pod, and after is nil for a deleted one.
func (r *Reconciler) podChanged(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*corev1.Pod)
	pod, _ := after.(*corev1.Pod)
	if old != nil && pod != nil {
		keys = r.affectedByLabels(old, pod)
		if !differs(old, pod) {
			return keys
		}
	}
	// Both versions are looked at, because the annotation can name another WorkloadSpread now.
	for _, one := range []*corev1.Pod{old, pod} {
		if one == nil {
			continue
		}
		matched, found := spread.MatchedOf(one)
		if found {
			keys = append(keys, types.NamespacedName{Namespace: one.Namespace, Name: matched.Name})
		}
		if one.Spec.NodeName != "" {
			// A Pod without a node cannot be assigned yet.
			for _, object := range r.ofOwner(one.Namespace, metav1.GetControllerOfNoCopy(one)) {
				if object.Name != matched.Name && (one.CreationTimestamp.Before(&object.CreationTimestamp) || hasRoom(object)) {
					keys = append(keys, controller.Self(object)...)
				}
			}
		}
	}
	return keys
}

// differs reports whether a Pod changed in what a pass reads. The condition that the Pod cannot be scheduled starts the time
// after which it is moved.
func differs(old, pod *corev1.Pod) bool {
	before, _ := spread.MatchedOf(old)
	after, _ := spread.MatchedOf(pod)
	return podstate.Active(old) != podstate.Active(pod) || old.Spec.NodeName != pod.Spec.NodeName || before != after ||
		old.UID != pod.UID || !controller.SameController(old, pod) ||
		(subset.UnschedulableSince(old) == nil) != (subset.UnschedulableSince(pod) == nil)
}

// affectedByLabels returns the WorkloadSpreads that a change of a Pod's labels affects: they start or stop selecting the Pod, or count it
// under another version of the workload.
// Other labels change often, and cause no pass.
func (r *Reconciler) affectedByLabels(old, pod *corev1.Pod) (keys []types.NamespacedName) {
	if maps.Equal(old.Labels, pod.Labels) {
		return nil
	}
	concerned := r.ofOwner(pod.Namespace, metav1.GetControllerOfNoCopy(pod))
	// The target can be above the owner.
	if matched, found := spread.MatchedOf(pod); found {
		item, _, _ := r.spreads.GetByKey(cache.NewObjectName(pod.Namespace, matched.Name).String()) // The cache returns no error.
		if object, ok := item.(*v1beta1.WorkloadSpread); ok {
			concerned = append(concerned, object)
		}
	}
	for _, object := range concerned {
		if spread.Selects(object, old.Labels) != spread.Selects(object, pod.Labels) ||
			spread.VersionOf(object, old) != spread.VersionOf(object, pod) {
			keys = append(keys, controller.Self(object)...)
		}
	}
	return keys
}

// hasRoom reports whether a subset had a free slot at the last count, or nothing was counted yet. -1 means that there is no
// limit.
func hasRoom(object *v1beta1.WorkloadSpread) bool {
	statuses := object.Status.SubsetStatuses
	return len(statuses) != len(object.Spec.Subsets) || slices.ContainsFunc(statuses, func(s v1beta1.WorkloadSpreadSubsetStatus) bool {
		return s.MissingReplicas != 0
	})
}

// ofOwner returns the WorkloadSpreads of an owner and of the Deployment above it. A nil reference has none.
func (r *Reconciler) ofOwner(namespace string, ref *metav1.OwnerReference) []*v1beta1.WorkloadSpread {
	if ref == nil {
		return nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	found := r.of(namespace, kind, ref.Name)
	if kind == kinds.ReplicaSet {
		if item, exists, _ := r.workloads[kind].GetByKey(namespace + "/" + ref.Name); exists {
			if set, ok := item.(*appsv1.ReplicaSet); ok {
				found = append(found, r.ofDeployment(set)...)
			}
		}
	}
	return found
}

// ofDeployment returns the WorkloadSpreads of the Deployment of a ReplicaSet.
func (r *Reconciler) ofDeployment(set metav1.Object) []*v1beta1.WorkloadSpread {
	ref := metav1.GetControllerOfNoCopy(set)
	if ref == nil {
		return nil
	}
	return r.of(set.GetNamespace(), kinds.Deployment, ref.Name)
}

// of returns the WorkloadSpreads whose target is the workload.
func (r *Reconciler) of(namespace string, kind schema.GroupKind, name string) []*v1beta1.WorkloadSpread {
	found, _ := spread.Of(r.spreads, namespace, kind, name) // The index exists.
	return found
}

// workloadChanged returns the WorkloadSpreads of a workload of the kind, and for a ReplicaSet those of its Deployment before and after
// the change. Only changes of the spec, of the revision, of the deletion and of the controller matter: a change of the status would
// cause a pass for each Pod of the workload.
func (r *Reconciler) workloadChanged(kind schema.GroupKind) reconcile.Differ {
	return func(before, after metav1.Object) (keys []types.NamespacedName) {
		if before != nil && after != nil && before.GetUID() == after.GetUID() && before.GetGeneration() == after.GetGeneration() &&
			before.GetAnnotations()[revisionKey] == after.GetAnnotations()[revisionKey] &&
			(before.GetDeletionTimestamp() == nil) == (after.GetDeletionTimestamp() == nil) && controller.SameController(before, after) {
			return nil
		}
		// Both versions are looked at, because an adoption changes the Deployment. The queue holds each key once.
		for _, object := range []metav1.Object{before, after} {
			if object == nil {
				continue
			}
			found := r.of(object.GetNamespace(), kind, object.GetName())
			if kind == kinds.ReplicaSet {
				found = append(found, r.ofDeployment(object)...)
			}
			for _, one := range found {
				keys = append(keys, controller.Self(one)...)
			}
		}
		return keys
	}
}
