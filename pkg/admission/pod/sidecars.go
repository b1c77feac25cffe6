package pod

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/groupcommit"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/rollout"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// namespacePatience limits the read of a namespace, because the creation of the Pod waits for it.
const namespacePatience = 2 * time.Second

// sidecars injects what SidecarSets add to a Pod: containers, init containers, volumes, pull secrets and annotations.
// All fields are set during the initialization.
type sidecars struct {
	features   featuregate.FeatureGate
	sets       cache.Indexer
	namespaces corelisters.NamespaceLister
	// labelled reads namespaces from their server. Requests that come during a read share the next one.
	labelled  *groupcommit.Writer[string, labels.Set]
	revisions revisions
	host      kubernetes.Interface
	clock     clock.PassiveClock
	// random returns a number in the half-open range from 0 to 1. Tests replace it.
	random func() float64
}

// newSidecars returns the mutator without its dependencies. The setters of Plugin set them.
func newSidecars(clock clock.PassiveClock) *sidecars {
	s := &sidecars{clock: clock, random: rand.Float64}
	s.labelled = groupcommit.New(func(ctx context.Context, name string, tell func(labels.Set) error) error {
		namespace, err := s.host.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return tell(namespace.Labels)
	})
	return s
}

// mutate selects the SidecarSets, takes each in the version for this Pod, and injects them. Metadata is patched even
// if no container is added. It matches the labels that the Pod has now, with the changes of earlier mutators.
func (s *sidecars) mutate(ctx context.Context, e *edit, attributes admission.Attributes) error {
	// The kubelet runs a static Pod as its file says. What is added to the copy in the API would not run.
	if _, mirror := e.pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror || !podstate.Active(e.pod) {
		return nil
	}
	// The index finds candidates by labels. The labels of the namespace are read only if a candidate has a selector
	// for them.
	matching, err := sidecar.Matching(s.sets, e.pod.Namespace, e.pod.Labels, func() (labels.Set, bool, error) {
		return s.namespaceLabels(ctx, e.pod.Namespace)
	})
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	sets := sidecar.ForNewPods(matching)
	if len(sets) == 0 {
		return nil
	}
	for i, set := range sets {
		if sets[i], err = s.chosen(ctx, set, e.pod, attributes); err != nil {
			return err
		}
	}
	// What is left out is left out as a whole, with its annotations.
	sets, clashes := sidecar.Separate(sets)
	for _, clash := range clashes {
		warning.AddWarning(ctx, "", clash.String())
	}
	// Each SidecarSet sees the annotations that the ones before have written, in the order of their names.
	for _, set := range sets {
		changes, err := sidecar.Annotations(set.Spec.PatchPodMetadata, e.pod.Annotations)
		if err != nil {
			return refuseMetadata(e.pod, set, err)
		}
		e.annotateAll(changes)
	}
	in := &injection{
		pod: e.pod, sets: sets, sorted: s.features.Enabled(features.EnableSortSidecarContainerByName), stored: s.revisions.of,
	}
	if err := in.build(); err != nil {
		return invalid(e.pod, err)
	}
	if len(in.used) == 0 {
		return nil
	}
	in.apply(ctx, e)
	return in.record(e, metav1.NewTime(s.clock.Now()))
}

// namespaceLabels reads a namespace from its server, because its labels may have changed a moment before. If the server does not answer
// in time, the cache decides. It returns false if the namespace does not exist.
func (s *sidecars) namespaceLabels(ctx context.Context, name string) (found labels.Set, exists bool, err error) {
	reading, cancel := context.WithTimeout(ctx, namespacePatience)
	defer cancel()
	err = s.labelled.Do(reading, name, func(read labels.Set) error {
		found = read
		return nil
	})
	if err == nil || apierrors.IsNotFound(err) {
		return found, err == nil, nil
	}
	namespace, cacheErr := s.namespaces.Get(name)
	if cacheErr != nil {
		return nil, false, fmt.Errorf("get namespace %s: %w", name, err)
	}
	return namespace.Labels, true, nil
}

// chosen returns the SidecarSet as it is injected into the Pod: as it is, or as a stored revision has it. A revision
// that does not exist is a refusal: the latest version instead would be the one that the user wanted to keep away
// from new Pods.
func (s *sidecars) chosen(ctx context.Context, set *v1beta1.SidecarSet, pod *corev1.Pod, attributes admission.Attributes) (
	*v1beta1.SidecarSet, error) {
	wanted := set.Spec.InjectionStrategy.Revision
	if !sidecar.Pins(wanted) {
		return set, nil
	}
	// With the policy Partial, the stored revision is only for Pods that the update strategy would keep at the old
	// version.
	if wanted.Policy == v1beta1.PartialSidecarSetInjectRevisionPolicy && !s.keepsOld(set, pod) {
		return set, nil
	}
	revision, err := s.revisions.find(ctx, set)
	if err != nil {
		return nil, err
	}
	if revision == nil {
		return nil, admission.NewForbidden(attributes, fmt.Errorf(
			"SidecarSet %s injects a stored revision that does not exist; correct its spec.injectionStrategy.revision", set.Name))
	}
	restored, err := sidecar.Restore(set, revision)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return restored, nil
}

// keepsOld reports whether the update strategy would keep the Pod at the old version. Paused comes first, then the
// selector, then the partition of the selected Pods. A partition in percent is applied by chance: of many new Pods, that share gets the
// old version. A number of Pods cannot be applied to a single new Pod, so such Pods get the new version.
func (s *sidecars) keepsOld(set *v1beta1.SidecarSet, pod *corev1.Pod) bool {
	strategy := &set.Spec.UpdateStrategy
	if strategy.Paused {
		return true
	}
	if strategy.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(strategy.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			return true
		}
	}
	if strategy.Partition == nil || strategy.Partition.Type == intstr.Int {
		return false
	}
	// Percentages can have decimals, such as 0.5%.
	const all = 1_000_000
	share, err := rollout.Rounded(strategy.Partition, all, 0)
	return err == nil && s.random()*all < float64(share)
}

// refuseMetadata says which annotation of the Pod cannot be merged. It returns an internal error for any other
// failure.
func refuseMetadata(pod *corev1.Pod, set *v1beta1.SidecarSet, err error) error {
	var unmerged *sidecar.MetadataError
	if !errors.As(err, &unmerged) {
		return apierrors.NewInternalError(err)
	}
	return invalid(pod, field.Invalid(field.NewPath("metadata", "annotations").Key(unmerged.Key), unmerged.Value,
		fmt.Sprintf("SidecarSet %s merges JSON into it: %v", set.Name, unmerged.Err)))
}

// invalid returns a refusal of the Pod with 422, or an internal error if the error is no mistake in the Pod. A Pod
// without a name is reported by its generateName.
func invalid(pod *corev1.Pod, err error) error {
	var mistake *field.Error
	if !errors.As(err, &mistake) {
		return apierrors.NewInternalError(err)
	}
	name := pod.Name
	if name == "" {
		name = pod.GenerateName
	}
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), name, field.ErrorList{mistake})
}

// revisions finds stored revisions of SidecarSets in a cache of the ControllerRevisions in namespace, the system
// namespace.
type revisions struct {
	known     cache.Indexer
	synced    func() bool
	namespace string
}

// find returns the revision that the SidecarSet injects, or nil. It returns an error while the revisions are not
// loaded, so a missing revision is certain. A name comes before a version. If several revisions have the version, the
// newest one that the SidecarSet owns is used.
func (r *revisions) find(_ context.Context, set *v1beta1.SidecarSet) (*appsv1.ControllerRevision, error) {
	if !r.synced() {
		return nil, apierrors.NewServiceUnavailable("the revisions of SidecarSets are not loaded yet; try again in a few seconds")
	}
	wanted := set.Spec.InjectionStrategy.Revision
	if name := ptr.Deref(wanted.RevisionName, ""); name != "" {
		item, _, err := r.known.GetByKey(r.namespace + "/" + name)
		revision, ok := item.(*appsv1.ControllerRevision)
		if err != nil || !ok || !sidecar.Stores(revision, set) {
			return nil, err
		}
		return revision, nil
	}
	items, err := r.known.ByIndex(revisionIndex, set.Name)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	revisions := make([]*appsv1.ControllerRevision, 0, len(items))
	for _, item := range items {
		if revision, ok := item.(*appsv1.ControllerRevision); ok {
			revisions = append(revisions, revision)
		}
	}
	return sidecar.Pinned(set, wanted, revisions), nil
}

// of returns the revisions that the SidecarSet owns. Those of a deleted SidecarSet with the same name are not among them. While the
// revisions are not loaded, it returns those that are known already.
func (r *revisions) of(set *v1beta1.SidecarSet) (owned []*appsv1.ControllerRevision) {
	items, _ := r.known.ByIndex(revisionIndex, set.Name) // It fails only if the index is missing.
	for _, item := range items {
		if revision, ok := item.(*appsv1.ControllerRevision); ok && metav1.IsControlledBy(revision, set) {
			owned = append(owned, revision)
		}
	}
	return owned
}

// revisionIndex finds revisions by the name of their SidecarSet.
const revisionIndex = "sidecarSet"

// revisionsOf is the index function of revisionIndex. Revisions of other owners in the namespace are not indexed.
func revisionsOf(obj any) ([]string, error) {
	if revision, ok := obj.(*appsv1.ControllerRevision); ok && revision.Labels[pub.SidecarSetNameKey] != "" {
		return []string{revision.Labels[pub.SidecarSetNameKey]}, nil
	}
	return nil, nil
}
