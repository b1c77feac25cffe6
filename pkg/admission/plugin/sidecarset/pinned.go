package sidecarset

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// clashes returns the conflicts of a SidecarSet with others: of its spec, and of the stored revision that it injects into new Pods.
func (p *Plugin) clashes(ctx context.Context, set *apps.SidecarSet, others []*apps.SidecarSet) (field.ErrorList, error) {
	namespaces := p.namespaceLabels(ctx)
	errs, err := validation.ValidateSidecarSetConflicts(set, others, namespaces)
	if err != nil {
		return nil, err
	}
	pinned, err := p.pinned(ctx, set)
	if err != nil || pinned == nil {
		return errs, err
	}
	found, err := validation.ValidateSidecarSetConflicts(pinned, others, namespaces)
	if err != nil {
		return nil, err
	}
	for _, conflict := range found {
		// What the spec has too is reported there.
		if !slices.ContainsFunc(errs, func(known *field.Error) bool { return known.Detail == conflict.Detail }) {
			errs = append(errs, field.Invalid(field.NewPath("spec", "injectionStrategy", "revision"), pinned.Status.LatestRevision,
				"the revision cannot be injected: "+conflict.Detail))
		}
	}
	return errs, nil
}

// withPinned adds the stored revisions that the SidecarSets inject into new Pods, each as a SidecarSet of the same name.
func (p *Plugin) withPinned(ctx context.Context, sets []*apps.SidecarSet) ([]*apps.SidecarSet, error) {
	all := slices.Clone(sets)
	for _, set := range sets {
		pinned, err := p.pinned(ctx, set)
		if err != nil {
			return nil, err
		}
		if pinned != nil {
			all = append(all, pinned)
		}
	}
	return all, nil
}

// pinned returns the SidecarSet as the stored revision has it that it injects into new Pods. It returns nil if it injects its spec, or if
// the revision does not exist or cannot be read, because then no Pod gets it.
func (p *Plugin) pinned(ctx context.Context, set *apps.SidecarSet) (*apps.SidecarSet, error) {
	stored := &v1beta1.SidecarSet{}
	if err := v1beta1.Convert_apps_SidecarSet_To_v1beta1_SidecarSet(set, stored, nil); err != nil {
		return nil, fmt.Errorf("convert SidecarSet %s: %w", set.Name, err)
	}
	wanted := stored.Spec.InjectionStrategy.Revision
	if !sidecar.Pins(wanted) {
		return nil, nil //nolint:nilnil // as documented
	}
	list, err := p.Host.AppsV1().ControllerRevisions(p.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{pub.SidecarSetNameKey: set.Name}.String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list the revisions of SidecarSet %s: %w", set.Name, err)
	}
	revisions := make([]*appsv1.ControllerRevision, len(list.Items))
	for i := range list.Items {
		revisions[i] = &list.Items[i]
	}
	revision := sidecar.Pinned(stored, wanted, revisions)
	if revision == nil {
		return nil, nil //nolint:nilnil // as documented
	}
	restored, err := sidecar.Restore(stored, revision)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // as documented
	}
	pinned := &apps.SidecarSet{}
	if err := v1beta1.Convert_v1beta1_SidecarSet_To_apps_SidecarSet(restored, pinned, nil); err != nil {
		return nil, fmt.Errorf("convert revision %s: %w", revision.Name, err)
	}
	return pinned, nil
}
