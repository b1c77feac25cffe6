package pod

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	lru "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/admission/owners"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/disruption"
)

const (
	// ownerPatience limits the read of an owner. The annotation is optional, so a Pod must not wait longer for it.
	ownerPatience = 2 * time.Second
	// rememberedOwners and rememberedFor limit the cache of owners. The Pods of a workload are created together, and
	// the controller of their owner rarely changes.
	rememberedOwners = 1000
	rememberedFor    = 10 * time.Second
)

// budget sets the annotation that names the PodUnavailableBudget of a Pod. With it, kube-apiserver asks this server
// about the Pod from the beginning. The budget controller would write the same annotation later.
type budget struct {
	// features decides whether budgets are in use. known has all budgets of this server, by namespace and by target.
	features featuregate.FeatureGate
	known    cache.Indexer
	owners   owners.Finder
	// above caches the workloads of an owner by the reference to the owner. The key has the UID, so a replaced owner
	// is read anew.
	above *lru.LRUExpireCache
}

// newBudget returns the mutator without its dependencies. The setters of Plugin set them.
func newBudget(clock clock.PassiveClock) *budget {
	return &budget{above: lru.NewLRUExpireCacheWithClock(rememberedOwners, clock)}
}

// mutate writes the name of the budget under both annotation keys, or removes both. A value of the user is
// overwritten, because kube-apiserver and the budgets' plugin rely on it.
func (b *budget) mutate(ctx context.Context, e *edit, _ admission.Attributes) error {
	if !b.features.Enabled(features.PodUnavailableBudgetDeleteGate) && !b.features.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil
	}
	name, err := b.governing(ctx, e.pod)
	if err != nil {
		return err
	}
	// Earlier and later releases use different keys, so both are written.
	for _, key := range []string{pub.RelatedPubKey, pub.RelatedPubKeyNew} {
		if name == "" {
			e.unannotate(key)
		} else {
			e.annotate(key, name)
		}
	}
	return nil
}

// governing returns the name of the Pod's budget, or an empty string. It follows the order of the plugin of budgets:
// a budget that targets the workload or selects the labels, then the one in the annotation. A namespace without a
// budget costs one index lookup. If the owner cannot be read in time, a budget of the Pod's own controller or of its labels is
// enough: the name only has to make kube-apiserver ask about the Pod, and the plugin of budgets then reads the owners itself.
func (b *budget) governing(ctx context.Context, pod *corev1.Pod) (string, error) {
	keys, err := b.known.IndexKeys(cache.NamespaceIndex, pod.Namespace)
	if err != nil {
		return "", fmt.Errorf("look up budgets by namespace: %w", err)
	}
	if len(keys) == 0 {
		return "", nil
	}
	workloads, unread := b.workloads(ctx, pod)
	governing, err := disruption.Governing(b.known, pod.Namespace, pod.Labels, workloads)
	if err != nil {
		return "", fmt.Errorf("look up budgets: %w", err)
	}
	if governing != nil {
		return governing.Name, nil
	}
	if unread != nil {
		return "", fmt.Errorf("look up the owners of the Pod: %w", unread)
	}
	return b.hinted(pod), nil
}

// hinted returns the budget that the Pod names itself, if the target of that budget may select Pods without owning
// them. Only the controller knows those Pods, and it corrects a wrong annotation.
func (b *budget) hinted(pod *corev1.Pod) string {
	name := disruption.Hinted(pod.Annotations)
	item, found, err := b.known.GetByKey(pod.Namespace + "/" + name)
	if err != nil || !found {
		return ""
	}
	if hinted, ok := item.(*v1beta1.PodUnavailableBudget); !ok || !disruption.FoundByScale(hinted) {
		return ""
	}
	return name
}

// owner holds the fields of an owner reference that identify the owner.
type owner struct {
	namespace  string
	apiVersion string
	kind, name string
	uid        types.UID
}

// workloads returns the controller of the Pod and the controller of that one. If the controller of the Pod is gone or
// replaced, it is the only result; this is not cached, because it is rare. An owner that cannot be read because of
// permissions is cached without a controller. The read has a limit of time, see ownerPatience. With an error, the
// result is the controller of the Pod.
func (b *budget) workloads(ctx context.Context, pod *corev1.Pod) ([]disruption.Workload, error) {
	first, ref := disruption.ControllerOf(pod)
	if ref == nil {
		return nil, nil
	}
	key := owner{pod.Namespace, ref.APIVersion, ref.Kind, ref.Name, ref.UID}
	if remembered, found := b.above.Get(key); found {
		if workloads, ok := remembered.([]disruption.Workload); ok {
			return workloads, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	workloads := []disruption.Workload{first}
	object, err := b.owners.Get(ctx, pod.Namespace, ref)
	if apierrors.IsNotFound(err) {
		return workloads, nil
	}
	if err != nil {
		return workloads, err
	}
	// Another object has the name. The real owner is gone, and has no controller any more.
	if object != nil && object.GetUID() != ref.UID {
		return workloads, nil
	}
	if object != nil {
		if second, above := disruption.ControllerOf(object); above != nil {
			workloads = append(workloads, second)
		}
	}
	b.above.Add(key, workloads, rememberedFor)
	return workloads, nil
}
