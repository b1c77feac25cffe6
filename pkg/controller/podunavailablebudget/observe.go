package podunavailablebudget

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
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
	// unreadable has the kind of each resource that the controllers may not read. failed has the errors of other reads.
	unreadable map[schema.GroupResource]schema.GroupKind
	failed     map[disruption.Workload]error
}

// uses records how a workload was found.
func (o *observation) uses(workload disruption.Workload, found *size) {
	if found == nil {
		return
	}
	if !found.unreadable.Empty() {
		o.unreadable[found.unreadable] = workload.GroupKind
	}
	if found.failed != nil {
		o.failed[workload] = found.failed
	}
}

// observe reads the caches. The budget must have been read before: otherwise a grant that was recorded and ended in between
// would be missed. server is shared by all attempts of one count, so that it does not read each Pod again.
func (r *Reconciler) observe(
	ctx context.Context, budget *v1beta1.PodUnavailableBudget, server *disruption.Server,
) (*observation, error) {
	seen := &observation{
		Observation: disruption.Observation{Now: r.clock.Now(), Cached: r.cachedPod(budget.Namespace), Server: server},
		unreadable:  map[schema.GroupResource]schema.GroupKind{}, failed: map[disruption.Workload]error{},
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
// is no error. If a target that was counted before cannot be read now, its Pods are counted, and it wants as many as before.
func (r *Reconciler) observeTarget(ctx context.Context, budget *v1beta1.PodUnavailableBudget, seen *observation) error {
	target, _ := disruption.TargetOf(budget)
	found, err := r.workloads.find(ctx, budget.Namespace, target)
	seen.unseen = r.workloads.cached[target.GroupKind] == nil
	if err != nil || found == nil {
		return err
	}
	if found.failed != nil && budget.Status.ObservedGeneration == 0 {
		return found.failed
	}
	seen.uses(target, found)
	pods, err := r.podsOf(budget, target, found)
	if err != nil {
		return err
	}
	seen.Pods = r.governed(budget, pods)
	switch {
	case found.failed != nil:
		seen.Replicas = budget.Status.TotalReplicas
	case found.uncounted:
		seen.Replicas = int32(len(seen.Pods))
	default:
		seen.Replicas = found.replicas
	}
	return nil
}

// podsOf returns the Pods that a workload owns. If it owns none, podsOf returns the Pods that its scale subresource selects: a
// custom kind can manage its Pods through other objects. An invalid selector of the scale subresource is an error that the user
// sees as an event.
func (r *Reconciler) podsOf(
	budget *v1beta1.PodUnavailableBudget, workload disruption.Workload, found *size,
) ([]*corev1.Pod, error) {
	namespace := budget.Namespace
	if !found.unreadable.Empty() || found.failed != nil {
		pods, err := r.namingPods(namespace, workload)
		if err != nil {
			return nil, err
		}
		return r.withAnnotated(budget, pods)
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

// withAnnotated adds the Pods that are annotated with the budget. The scale subresource of the workload selected them when it could be
// read.
func (r *Reconciler) withAnnotated(budget *v1beta1.PodUnavailableBudget, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	items, err := r.pods.ByIndex(hintIndex, budget.Namespace+"/"+budget.Name)
	if err != nil {
		return nil, fmt.Errorf("list Pods by budget: %w", err)
	}
	known := sets.New[string]()
	for _, pod := range pods {
		known.Insert(pod.Name)
	}
	for _, item := range items {
		if pod, ok := item.(*corev1.Pod); ok && !known.Has(pod.Name) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
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
		replicaSets, err := naming[metav1.Object](indexer, namespace, workload)
		if err != nil {
			return nil, err
		}
		below, err := r.podsOfSets(replicaSets)
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
	replicaSets, err := controller.ByOwnerIn[metav1.Object](r.workloads.cached[*known.Through], namespace, uid)
	if err != nil {
		return nil, err
	}
	return r.podsOfSets(replicaSets)
}

// podsOfSets returns the Pods of ReplicaSets. Those of a ReplicaSet that is being deleted do not count: the garbage collector will
// delete them.
func (r *Reconciler) podsOfSets(replicaSets []metav1.Object) (all []*corev1.Pod, err error) {
	for _, set := range replicaSets {
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

// observeSelected reads the Pods that match the selector, and the replicas of every workload that controls one of them. Each Pod
// without a controller is wanted, and so is each Pod of a workload that cannot be read: one Pod of a kind whose server is down must not
// stop the count for all others.
func (r *Reconciler) observeSelected(ctx context.Context, budget *v1beta1.PodUnavailableBudget, seen *observation) error {
	pods, err := r.selected(budget.Namespace, selectorindex.Parse(budget.Spec.Selector))
	if err != nil {
		return err
	}
	seen.Pods = r.governed(budget, pods)
	// having is the number of Pods of each workload.
	having := map[disruption.Workload]int32{}
	for _, pod := range seen.Pods {
		chain := r.workloads.above(pod)
		if len(chain) == 0 {
			seen.Replicas++
			continue
		}
		having[top(chain)]++
	}
	for workload, pods := range having {
		found, err := r.workloads.find(ctx, budget.Namespace, workload)
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
