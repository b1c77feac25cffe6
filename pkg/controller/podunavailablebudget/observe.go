package podunavailablebudget

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// observation is the input for counting a budget, and what the controller needs beside it.
type observation struct {
	disruption.Observation
	// unseen is true if changes of the replicas cause no event, because the kind is not watched. They are then read again after
	// controller.UnwatchedPeriod.
	unseen bool
	// unreadable has the kind of each resource that the controllers may not read.
	unreadable map[schema.GroupResource]schema.GroupKind
}

// uses records how a workload was found.
func (o *observation) uses(workload disruption.Workload, found *size) {
	if found != nil && !found.unreadable.Empty() {
		o.unreadable[found.unreadable] = workload.GroupKind
	}
}

// observe reads the caches. The budget must have been read before: otherwise a grant that was recorded and ended in between
// would be missed. server is shared by all attempts of one count, so that it does not read each Pod again.
func (r *Reconciler) observe(
	ctx context.Context, budget *v1beta1.PodUnavailableBudget, server *disruption.Server,
) (*observation, error) {
	seen := &observation{
		Observation: disruption.Observation{Now: r.clock.Now(), Cached: r.cachedPod(budget.Namespace), Server: server},
		unreadable:  map[schema.GroupResource]schema.GroupKind{},
	}
	var err error
	if budget.Spec.TargetRef == nil {
		err = r.observeSelected(ctx, budget, seen)
	} else {
		err = r.observeTarget(ctx, budget, seen)
	}
	return seen, err
}

// observeTarget reads the Pods and replicas of the budget's target. If the target does not exist, the budget has no Pods, which
// is no error.
func (r *Reconciler) observeTarget(ctx context.Context, budget *v1beta1.PodUnavailableBudget, seen *observation) error {
	target, _ := disruption.TargetOf(budget)
	found, err := r.workloads.find(ctx, budget.Namespace, target)
	seen.unseen = r.workloads.cached[target.GroupKind] == nil
	if err != nil || found == nil {
		return err
	}
	seen.uses(target, found)
	pods, err := r.podsOf(budget.Namespace, target, found)
	if err != nil {
		return err
	}
	seen.Pods = r.governed(budget, pods)
	seen.Replicas = found.replicas
	if found.uncounted {
		seen.Replicas = int32(len(seen.Pods))
	}
	return nil
}

// podsOf returns the Pods that a workload owns. If it owns none, podsOf returns the Pods that its scale subresource selects: a
// custom kind can manage its Pods through other objects. An invalid selector of the scale subresource is an error that the user
// sees as an event.
func (r *Reconciler) podsOf(namespace string, workload disruption.Workload, found *size) ([]*corev1.Pod, error) {
	if !found.unreadable.Empty() {
		return r.namingPods(namespace, workload)
	}
	pods, err := r.ownedPods(workload.GroupKind, namespace, found.uid)
	if err != nil || len(pods) > 0 || found.selector == "" {
		return pods, err
	}
	parsed, err := metav1.ParseToLabelSelector(found.selector)
	if err != nil {
		return nil, fmt.Errorf("selector %q of the scale subresource: %w", found.selector, err)
	}
	return r.selected(namespace, selectorindex.Parse(parsed))
}

// namingPods returns the Pods that name a workload of an uncached kind as their controller, and those of ReplicaSets that do.
func (r *Reconciler) namingPods(namespace string, workload disruption.Workload) ([]*corev1.Pod, error) {
	pods, err := naming[*corev1.Pod](r.pods, namespace, workload)
	if err != nil {
		return nil, err
	}
	for kind, indexer := range r.workloads.cached {
		if !through(kind) {
			continue
		}
		sets, err := naming[metav1.Object](indexer, namespace, workload)
		if err != nil {
			return nil, err
		}
		below, err := r.podsOfSets(sets)
		if err != nil {
			return nil, err
		}
		pods = append(pods, below...)
	}
	return pods, nil
}

// naming returns the objects of a cache that name a workload of an uncached kind as their controller.
func naming[T metav1.Object](indexer cache.Indexer, namespace string, workload disruption.Workload) ([]T, error) {
	objects, err := controller.ByUnwatched[T](indexer, types.NamespacedName{Namespace: namespace, Name: workload.Name})
	return slices.DeleteFunc(objects, func(object T) bool {
		named, _ := disruption.ControllerOf(object)
		return named != workload
	}), err
}

// ownedPods returns the Pods of a workload. For a Deployment, these are the Pods of all its ReplicaSets.
func (r *Reconciler) ownedPods(kind schema.GroupKind, namespace string, uid types.UID) ([]*corev1.Pod, error) {
	known := kinds.Of(kind)
	// The Pods of most kinds, also of custom ones, name the workload as their controller.
	if known == nil || known.Through == nil {
		return controller.ByOwnerIn[*corev1.Pod](r.pods, namespace, uid)
	}
	sets, err := controller.ByOwnerIn[metav1.Object](r.workloads.cached[*known.Through], namespace, uid)
	if err != nil {
		return nil, err
	}
	return r.podsOfSets(sets)
}

// podsOfSets returns the Pods of ReplicaSets. Those of a ReplicaSet that is being deleted do not count: the garbage collector will
// delete them.
func (r *Reconciler) podsOfSets(sets []metav1.Object) (all []*corev1.Pod, err error) {
	for _, set := range sets {
		if set.GetDeletionTimestamp() != nil {
			continue
		}
		pods, err := controller.ByOwner[*corev1.Pod](r.pods, set)
		if err != nil {
			return nil, err
		}
		all = append(all, pods...)
	}
	return all, nil
}

// observeSelected reads the Pods that match the selector, and the replicas of every workload that controls one of them. Pods
// without a controller count as Pods, but add no replicas.
func (r *Reconciler) observeSelected(ctx context.Context, budget *v1beta1.PodUnavailableBudget, seen *observation) error {
	pods, err := r.selected(budget.Namespace, selectorindex.Parse(budget.Spec.Selector))
	if err != nil {
		return err
	}
	seen.Pods = r.governed(budget, pods)
	// having is the number of Pods of each workload.
	having := map[disruption.Workload]int32{}
	for _, pod := range seen.Pods {
		if chain := r.workloads.above(pod); len(chain) > 0 {
			having[top(chain)]++
		}
	}
	for workload, pods := range having {
		found, err := r.workloads.find(ctx, budget.Namespace, workload)
		// One Pod of a kind that is not served must not stop the count for all others. The server of the kind may only be down, so the Pods
		// of the kind stay wanted.
		if meta.IsNoMatchError(err) {
			found, err = &size{uncounted: true}, nil
		}
		if err != nil {
			return err
		}
		seen.unseen = seen.unseen || r.workloads.cached[workload.GroupKind] == nil
		seen.uses(workload, found)
		switch {
		// The Pods of a deleted workload are no longer wanted.
		case found == nil:
		case found.uncounted:
			seen.Replicas += pods
		default:
			seen.Replicas += found.replicas
		}
	}
	return nil
}

// top returns the workload whose replicas count for a Pod with this chain of controllers: the Deployment of its ReplicaSet, else its
// controller. With the replicas of the ReplicaSets, the total would be wrong during an update of the Deployment.
func top(chain []disruption.Workload) disruption.Workload {
	if len(chain) > 1 {
		if above := kinds.Of(chain[1].GroupKind); above != nil && above.Through != nil && *above.Through == chain[0].GroupKind {
			return chain[1]
		}
	}
	return chain[0]
}

// governed returns the active Pods that this budget governs. Each Pod has exactly one budget, so a Pod that two budgets match
// counts for one of them.
func (r *Reconciler) governed(budget *v1beta1.PodUnavailableBudget, pods []*corev1.Pod) (ours []*corev1.Pod) {
	for _, pod := range pods {
		if !podstate.Active(pod) {
			continue
		}
		// A Pod that its workload selects only by its scale subresource has no budget by target or by selector. It belongs to
		// this budget if no other budget has claimed it first.
		governing := r.governing(pod)
		if governing == nil && disruption.FoundByScale(budget) && r.free(budget, pod) || governing != nil && governing.Name == budget.Name {
			ours = append(ours, pod)
		}
	}
	return ours
}

// free reports whether a Pod that no budget governs directly is not claimed through another budget's scale subresource. The
// annotation is the claim, so two such budgets do not take a Pod from each other in turn.
func (r *Reconciler) free(budget *v1beta1.PodUnavailableBudget, pod *corev1.Pod) bool {
	hint := disruption.Hinted(pod.Annotations)
	if hint == "" || hint == budget.Name {
		return true
	}
	item, found, err := r.budgets.GetByKey(pod.Namespace + "/" + hint)
	other, ok := item.(*v1beta1.PodUnavailableBudget)
	return err == nil && (!found || !ok || !disruption.FoundByScale(other))
}

// governing returns the budget that governs a Pod by its target or by its selector, or nil.
func (r *Reconciler) governing(pod *corev1.Pod) *v1beta1.PodUnavailableBudget {
	budget, err := disruption.Governing(r.budgets, pod.Namespace, pod.Labels, r.workloads.above(pod))
	if err != nil {
		return nil
	}
	return budget
}

// claimed returns the Pods that a budget would govern if there were no other budgets. It finds only targets in the caches,
// because it runs in an event handler.
func (r *Reconciler) claimed(budget *v1beta1.PodUnavailableBudget) []*corev1.Pod {
	if budget.Spec.Selector != nil {
		pods, err := r.selected(budget.Namespace, selectorindex.Parse(budget.Spec.Selector))
		if err != nil {
			return nil
		}
		return pods
	}
	target, _ := disruption.TargetOf(budget)
	object := r.workloads.lookUp(target.GroupKind, budget.Namespace, target.Name)
	if object == nil {
		return nil
	}
	pods, err := r.ownedPods(target.GroupKind, object.GetNamespace(), object.GetUID())
	if err != nil {
		return nil
	}
	return pods
}

// cachedPod returns a function that returns a Pod of the namespace from the cache, or nil.
func (r *Reconciler) cachedPod(namespace string) func(string) *corev1.Pod {
	return func(name string) *corev1.Pod {
		item, found, err := r.pods.GetByKey(namespace + "/" + name)
		if err != nil || !found {
			return nil
		}
		pod, _ := item.(*corev1.Pod)
		return pod
	}
}

// livePod returns a function that reads the metadata of a Pod from the API server. It returns nil without an error if there is
// no such Pod.
func (r *Reconciler) livePod(ctx context.Context, namespace string) func(string) (*metav1.ObjectMeta, error) {
	return func(name string) (*metav1.ObjectMeta, error) {
		pod, err := r.kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // A missing object is not an error.
		}
		if err != nil {
			return nil, err
		}
		return &pod.ObjectMeta, nil
	}
}
