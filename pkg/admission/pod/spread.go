package pod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	lru "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/admission/owners"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/ordinals"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/spread"
	"kruise.io/kruise/pkg/workloadclient"
)

// targetPatience limits the read of the workload that a WorkloadSpread names, because the creation of the Pod waits
// for it.
const targetPatience = 2 * time.Second

// spreads sends a new Pod to the first subset of its WorkloadSpread that has a free slot.
type spreads struct {
	features featuregate.FeatureGate
	clock    clock.PassiveClock
	// known are WorkloadSpreads, with the index of package spread. store records their slots.
	known  cache.Indexer
	store  initializer.Spreads
	owners owners.Finder
	// custom reads workloads of kinds that have no type here.
	custom workloadclient.Custom
	// above caches the reference to the controller of an owner, by the reference to the owner.
	above *lru.LRUExpireCache
	// selectors caches the selector of an owner, by the reference to the owner.
	selectors *lru.LRUExpireCache
}

// newSpreads returns the mutator without its dependencies. The setters of Plugin set them.
func newSpreads(clock clock.PassiveClock) *spreads {
	return &spreads{
		clock: clock, above: lru.NewLRUExpireCacheWithClock(rememberedOwners, clock),
		selectors: lru.NewLRUExpireCacheWithClock(rememberedOwners, clock),
	}
}

// errReplaced refuses a slot of a WorkloadSpread that is not the one of the Pod.
var errReplaced = errors.New("the WorkloadSpread was replaced by another one of the same name")

// mutate skips dry runs, because a reserved slot is stored and a dry run must not store anything. A Pod without a
// free subset is created unchanged.
func (s *spreads) mutate(ctx context.Context, e *edit, attributes admission.Attributes) error {
	if attributes.IsDryRun() || !s.features.Enabled(features.WorkloadSpread) || !podstate.Active(e.pod) {
		return nil
	}
	found, err := s.of(ctx, e.pod)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("find the WorkloadSpread of the Pod: %w", err))
	}
	if found == nil {
		return nil
	}
	// The slot is stored before the Pod exists. If the Pod is not created after all, the slot expires.
	subset, matched, err := s.choose(ctx, found, e.pod)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("reserve a slot in WorkloadSpread %s/%s: %w", found.Namespace, found.Name, err))
	}
	if subset == nil {
		return nil
	}
	injected, err := spread.Inject(ctx, e.pod, subset, matched)
	if err == nil {
		injected.Labels = s.kept(ctx, found, e.pod, injected.Labels)
		err = e.become(injected)
	}
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("apply WorkloadSpread %s/%s: %w", found.Namespace, found.Name, err))
	}
	return nil
}

// of returns the WorkloadSpread of a Pod, or nil. That of the closest owner wins. It reads owners only as far as a
// WorkloadSpread of the namespace could target one of them, so most Pods need no read.
func (s *spreads) of(ctx context.Context, pod *corev1.Pod) (*v1beta1.WorkloadSpread, error) {
	items, err := s.known.ByIndex(cache.NamespaceIndex, pod.Namespace)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	ref := metav1.GetControllerOf(pod)
	// between are the kinds of the owners below the current one.
	var between []schema.GroupKind
	for range owners.Highest {
		if ref == nil {
			return nil, nil
		}
		// The WorkloadSpreads that target the current owner.
		kind := disruption.WorkloadOf(ref.APIVersion, ref.Kind, ref.Name).GroupKind
		candidates, err := spread.Of(s.known, pod.Namespace, kind, ref.Name)
		if err != nil {
			return nil, err
		}
		if found, err := s.first(ctx, candidates, pod, between); err != nil || found != nil {
			return found, err
		}
		between = append(between, kind)
		// Go on to the owner of the owner only if some WorkloadSpread can target a kind above the current one.
		higher := false
		for _, item := range items {
			other, ok := item.(*v1beta1.WorkloadSpread)
			higher = higher || ok && spread.HasIntermediateOwner(other, kind)
		}
		if !higher {
			return nil, nil
		}
		if ref, err = s.controllerOf(ctx, pod.Namespace, ref); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// first returns the first WorkloadSpread that applies to the Pod, or nil. between are the kinds of the owners between both.
func (s *spreads) first(
	ctx context.Context, candidates []*v1beta1.WorkloadSpread, pod *corev1.Pod, between []schema.GroupKind,
) (*v1beta1.WorkloadSpread, error) {
	for _, candidate := range candidates {
		if candidate.DeletionTimestamp != nil || !spread.Selects(candidate, pod.Labels) {
			continue
		}
		if counts, err := s.counts(ctx, candidate, between); err != nil || counts {
			return candidate, err
		}
	}
	return nil, nil //nolint:nilnil // as documented
}

// counts reports whether the controller counts Pods whose owners of these kinds stand between them and the target. Otherwise their slots
// would never end.
func (s *spreads) counts(ctx context.Context, object *v1beta1.WorkloadSpread, between []schema.GroupKind) (bool, error) {
	if len(between) == 0 {
		return true, nil
	}
	if kinds.Of(spread.KindOf(object)) != nil {
		return len(between) == 1 && spread.HasIntermediateOwner(object, between[0]), nil
	}
	entry, err := s.custom.Entry(ctx, spread.KindOf(object))
	// A mistake of the administrator must not keep the Pod from what else is added to it. The controller tells it in an event.
	if mistake, is := errors.AsType[*workloadclient.ListError](err); is {
		klog.FromContext(ctx).Info("The list of kinds is ignored: correct it", "workloadSpread", klog.KObj(object), "reason", mistake.Error())
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(between, func(kind schema.GroupKind) bool { return !entry.Between(kind) }), nil
}

// controllerOf returns the reference to the controller of an owner, or nil. The result is cached, even if there is no
// controller, for the other Pods of the same owner.
func (s *spreads) controllerOf(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*metav1.OwnerReference, error) {
	key := owner{namespace, ref.APIVersion, ref.Kind, ref.Name, ref.UID}
	if remembered, found := s.above.Get(key); found {
		if above, ok := remembered.(*metav1.OwnerReference); ok {
			return above, nil
		}
	}
	object, err := s.owners.Get(ctx, namespace, ref)
	if apierrors.IsNotFound(err) {
		return nil, nil // The owner is deleted, and its Pods will be.
	}
	if err != nil || object == nil || object.GetUID() != ref.UID {
		return nil, err
	}
	above := metav1.GetControllerOf(object)
	s.above.Add(key, above, rememberedFor)
	return above, nil
}

// choose returns the subset of a new Pod and its annotation, or no subset. There are three cases: a single subset
// without a limit needs no slot, a numbered Pod gets the subset of its position, and any other Pod reserves a slot.
func (s *spreads) choose(ctx context.Context, found *v1beta1.WorkloadSpread, pod *corev1.Pod) (
	chosen *v1beta1.WorkloadSpreadSubset, matched spread.Matched, err error,
) {
	matched.Name = found.Name
	// Every Pod fits, so nothing has to be stored.
	if subsets := found.Spec.Subsets; len(subsets) == 1 && subsets[0].MaxReplicas == nil {
		matched.Subset = subsets[0].Name
		return &subsets[0], matched, nil
	}
	if spread.Numbered(found) {
		position, err := s.position(ctx, found, pod)
		if err != nil {
			return nil, matched, err
		}
		// No slot is recorded: the number of the Pod says where it belongs, also after a restart of everything.
		index := spread.OfPosition(found, position)
		if index == spread.None {
			return nil, matched, nil
		}
		matched.Subset = found.Spec.Subsets[index].Name
		return &found.Spec.Subsets[index], matched, nil
	}
	// The slot is recorded by the name of the Pod. A Pod whose name is generated later gets a UID in its annotation
	// instead, and the controller finds its slot by it.
	request := &spread.Request{Version: spread.VersionOf(found, pod), Pod: pod.Name, Key: pod.Name}
	if pod.Name == "" {
		request.Key = uid(found, pod)
		matched.UID = request.Key
	}
	if request.Replicas, err = s.replicas(ctx, found); err != nil {
		return nil, matched, err
	}
	return s.reserve(ctx, found, request, matched)
}

// uid returns the key of a Pod without a name: that of the first call for this Pod, or a new one.
func uid(found *v1beta1.WorkloadSpread, pod *corev1.Pod) string {
	if earlier, ok := spread.MatchedOf(pod); ok && earlier.Name == found.Name && earlier.UID != "" {
		return earlier.UID
	}
	return string(uuid.NewUUID())
}

// reserve reserves a slot in the stored WorkloadSpread. The reservation is one transaction, so two Pods that are
// created at the same time do not get the same slot, also on different replicas of this server. No subset and no
// error means that no subset has a free slot or that the WorkloadSpread is gone.
func (s *spreads) reserve(ctx context.Context, found *v1beta1.WorkloadSpread, request *spread.Request, matched spread.Matched) (
	chosen *v1beta1.WorkloadSpreadSubset, _ spread.Matched, err error,
) {
	err = s.store.UpdateStatus(ctx, found.Namespace, found.Name, func(stored *v1beta1.WorkloadSpread) error {
		chosen = nil // Each attempt starts without the slot of an attempt that was not stored.
		if stored.UID != found.UID {
			return errReplaced
		}
		if index := spread.Reserve(stored, request, s.clock.Now()); index != spread.None {
			chosen = stored.Spec.Subsets[index].DeepCopy()
		}
		return nil
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, matched, nil
	case err != nil:
		return nil, matched, err
	case chosen == nil:
		return nil, matched, nil
	}
	matched.Subset = chosen.Name
	if chosen.MaxReplicas == nil {
		matched.UID = "" // Nothing is recorded.
	}
	return chosen, matched, nil
}

// replicas returns the number of Pods that the target wants, if percentages depend on it. It returns nil if no subset
// has a percentage, or for a custom kind that cannot be read; then the number of the controller's last recount is used. A
// missing target wants 0 Pods.
func (s *spreads) replicas(ctx context.Context, found *v1beta1.WorkloadSpread) (*int, error) {
	percent := false
	for i := range found.Spec.Subsets {
		limit := found.Spec.Subsets[i].MaxReplicas
		percent = percent || limit != nil && limit.Type == intstr.String
	}
	if !percent {
		return nil, nil
	}
	if kinds.Of(spread.KindOf(found)) == nil {
		return s.customReplicas(ctx, found), nil
	}
	// A missing target wants no Pods, so no percentage allows any.
	workload, err := s.target(ctx, found)
	if apierrors.IsNotFound(err) {
		return new(int), nil
	}
	if err != nil {
		return nil, err
	}
	total := spread.Total(found, workload)
	return &total, nil
}

// customReplicas returns the number of Pods that a target of a custom kind wants. It returns nil if the target or its scale cannot be read
// now: a missing permission, or a server that is down, does not mean that no Pods are wanted.
func (s *spreads) customReplicas(ctx context.Context, found *v1beta1.WorkloadSpread) *int {
	ctx, cancel := context.WithTimeout(ctx, targetPatience)
	defer cancel()
	workload, err := s.custom.Target(ctx, found)
	if err == nil && workload == nil {
		return new(int)
	}
	if err == nil && workload.Forbidden == nil {
		return &workload.Replicas
	}
	if err == nil {
		err = workload.Forbidden
	}
	klog.FromContext(ctx).V(2).Info("The target cannot be read, so percentages are those of the last recount: if access is denied, add the "+
		"rule to a ClusterRole with the label rbac.kruise.io/aggregate-to-workloads", "workloadSpread", klog.KObj(found), "err", err)
	return nil
}

// target reads the target from its server and not from a cache: the scale may have changed a moment before its
// controller created this Pod.
func (s *spreads) target(ctx context.Context, found *v1beta1.WorkloadSpread) (kinds.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, targetPatience)
	defer cancel()
	workload, err := workloadclient.Clients{Kube: s.owners.Host, Kruise: s.owners.Kruise}.
		Get(ctx, spread.KindOf(found), found.Namespace, found.Spec.TargetRef.Name)
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", found.Spec.TargetRef.Kind, found.Spec.TargetRef.Name, err)
	}
	return workload, nil
}

// position returns the place of a numbered Pod among those of its workload. Reserved numbers do not count. A Pod
// whose name is not one that the workload gives is treated as the first one. If the workload is missing, its numbers
// start at 0 without reservations.
func (s *spreads) position(ctx context.Context, found *v1beta1.WorkloadSpread, pod *corev1.Pod) (int, error) {
	number, numbered := ordinals.Of(found.Spec.TargetRef.Name, pod)
	if !numbered {
		return 0, nil
	}
	workload, err := s.target(ctx, found)
	if err != nil && !apierrors.IsNotFound(err) {
		return 0, err
	}
	start, reserved := ordinals.SpecOf(workload, s.features.Enabled(features.StatefulSetStartOrdinal))
	return ordinals.Position(number, start, reserved), nil
}
