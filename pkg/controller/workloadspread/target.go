package workloadspread

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/selectorindex"
	"kruise.io/kruise/pkg/workload/spread"
	"kruise.io/kruise/pkg/workloadclient"
)

// ownerKept is how long the controller of an object between a custom workload and its Pods is remembered.
const ownerKept = 10 * time.Minute

// target is the workload of a WorkloadSpread, as far as a pass needs it.
type target struct {
	// replicas is the number of Pods that the workload wants. Percentages are of this number.
	replicas int
	// latest is the version of new Pods, or empty if it is not known.
	latest string
	// forbidden is set if the controllers may not read the scale of the workload, and need it.
	forbidden *workloadclient.ForbiddenError
	// again is when the target is read again, if nothing says when it changes, or zero.
	again time.Duration
	// selector is that of the workload, or nil if it has none.
	selector labels.Selector
	// pods lists the Pods as the cache shows them now. A pass calls it again after a conflict.
	pods func() ([]*corev1.Pod, error)
}

// nothing is a target that does not exist: it wants no Pods and has none, so the recount removes all Pods from the status.
func nothing() *target {
	return &target{pods: func() ([]*corev1.Pod, error) { return nil, nil }}
}

// target returns the workload of a WorkloadSpread. Workloads of known kinds come from the caches, others from the API server. A
// target that does not exist is no error.
func (r *Reconciler) target(ctx context.Context, object *v1beta1.WorkloadSpread) (*target, error) {
	// Validation requires a target. Without one there is nothing to count.
	ref, kind := object.Spec.TargetRef, spread.KindOf(object)
	if ref == nil {
		return nothing(), nil
	}
	cached := r.workloads[kind]
	if cached == nil {
		return r.ofCustom(ctx, object)
	}
	item, found, err := cached.GetByKey(object.Namespace + "/" + ref.Name)
	if err != nil {
		return nil, fmt.Errorf("read %s %s from its cache: %w", ref.Kind, ref.Name, err)
	}
	workload, ok := item.(kinds.Object)
	if !found || !ok {
		return nothing(), nil
	}
	t := &target{replicas: spread.Total(object, workload)}
	if known := kinds.Of(kind); known != nil && known.Selector != nil {
		t.selector = selectorindex.Parse(known.Selector(workload))
	}
	owners := []types.UID{workload.GetUID()}
	// The Pods of a Deployment belong to its ReplicaSets, also to those of old revisions. Each revision is a version.
	if kind == kinds.Deployment {
		sets, err := controller.ByOwner[*appsv1.ReplicaSet](r.sets, workload)
		if err != nil {
			return nil, err
		}
		owners = nil
		for _, set := range sets {
			owners = append(owners, set.UID)
		}
		t.latest = newest(sets)
	}
	// A ReplicaSet can be the target itself.
	if set, ok := workload.(*appsv1.ReplicaSet); ok {
		t.latest = set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
	// All Pods of such a target have this version.
	if !spread.Versioned(object) {
		t.latest = spread.Unversioned
	}
	t.pods = func() ([]*corev1.Pod, error) { return r.ownedBy(object, owners) }
	return t, nil
}

// newest returns the version of the ReplicaSet with the highest revision, or "" if none has a revision.
func newest(sets []*appsv1.ReplicaSet) (version string) {
	most := -1
	for _, set := range sets {
		if revision, err := strconv.Atoi(set.Annotations[revisionKey]); err == nil && revision > most {
			most, version = revision, set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		}
	}
	return version
}

// ownedBy returns the Pods of the owners that the filter selects, sorted by name. The order is the same in each pass.
func (r *Reconciler) ownedBy(object *v1beta1.WorkloadSpread, owners []types.UID) (pods []*corev1.Pod, err error) {
	for _, owner := range owners {
		owned, err := controller.ByOwnerIn[*corev1.Pod](r.pods, object.Namespace, owner)
		if err != nil {
			return nil, err
		}
		pods = append(pods, owned...)
	}
	return filtered(object, pods), nil
}

// filtered returns the Pods of the namespace that the filter of the WorkloadSpread selects, sorted by name. It changes the
// given slice.
func filtered(object *v1beta1.WorkloadSpread, pods []*corev1.Pod) []*corev1.Pod {
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return pod.Namespace != object.Namespace || !spread.Selects(object, pod.Labels)
	})
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// ofCustom returns a workload of a kind that the administrator allows, as its server says. Nothing says when it changes, so it
// is read again after controller.UnwatchedPeriod, even if it does not exist yet. Its Pods have no versions.
func (r *Reconciler) ofCustom(ctx context.Context, object *v1beta1.WorkloadSpread) (*target, error) {
	workload, err := r.custom.Target(ctx, object)
	// Nothing was counted yet, so nothing can be lost.
	if meta.IsNoMatchError(err) && object.Status.ObservedGeneration == 0 {
		workload, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := nothing()
	t.again = controller.UnwatchedPeriod
	if workload == nil {
		return t, nil
	}
	t.latest, t.replicas, t.forbidden = spread.Unversioned, workload.Replicas, workload.Forbidden
	t.pods = func() ([]*corev1.Pod, error) {
		pods, err := r.ownedBy(object, []types.UID{workload.UID})
		if err != nil || workload.Entry == nil || len(workload.Entry.SubResources) == 0 {
			return pods, err
		}
		between, err := r.below(ctx, object, workload.Entry, workload.UID)
		return filtered(object, append(pods, between...)), err
	}
	return t, nil
}

// below returns the Pods whose controller is of a kind between the workload and its Pods, and belongs to the workload. It looks
// at all Pods of the namespace that the filter selects, because no index finds Pods by an owner above their controller.
func (r *Reconciler) below(
	ctx context.Context, object *v1beta1.WorkloadSpread, entry *spread.Custom, owner types.UID,
) (pods []*corev1.Pod, err error) {
	items, err := r.pods.ByIndex(cache.NamespaceIndex, object.Namespace)
	if err != nil {
		return nil, fmt.Errorf("list the Pods of namespace %s: %w", object.Namespace, err)
	}
	for _, item := range items {
		pod, ok := item.(*corev1.Pod)
		if !ok || !spread.Selects(object, pod.Labels) {
			continue
		}
		belongs, err := r.belongs(ctx, pod, entry, owner)
		if err != nil {
			return nil, err
		}
		if belongs {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// belongs reports whether the chain of controllers above an object leads to the owner through kinds of the list. The chain is
// at most as long as the list, so a circle of references ends.
func (r *Reconciler) belongs(ctx context.Context, object metav1.Object, entry *spread.Custom, owner types.UID) (bool, error) {
	ref := metav1.GetControllerOf(object)
	for range len(entry.SubResources) {
		if ref == nil || !entry.Between(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()) {
			return false, nil
		}
		var err error
		if ref, err = r.controllerOf(ctx, object.GetNamespace(), ref); err != nil || ref == nil {
			return false, err
		}
		if ref.UID == owner {
			return true, nil
		}
	}
	return false, nil
}

// controllerOf returns the controller of an object, or nil if it has none or does not exist. Answers are kept for ownerKept,
// because many Pods have the same controller. An answer that the object does not exist is not kept.
func (r *Reconciler) controllerOf(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*metav1.OwnerReference, error) {
	// The UID identifies the object, so an answer stays right: the controller of an object rarely changes.
	if known, found := r.above.Get(ref.UID); found {
		if above, ok := known.(*metav1.OwnerReference); ok {
			return above, nil
		}
	}
	object, err := r.custom.Get(ctx, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind(), namespace, ref.Name)
	if workloadclient.Missing(err) || err == nil && object.GetUID() != ref.UID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	above := metav1.GetControllerOf(object)
	r.above.Add(ref.UID, above, ownerKept)
	return above, nil
}
