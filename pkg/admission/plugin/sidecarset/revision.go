package sidecarset

import (
	"context"
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// checkRevision requires that the revision for new Pods exists and belongs to this SidecarSet. Otherwise no Pod could
// be created. It checks only a reference that the update changes: a revision that was deleted later does not block
// other changes. The name comes before the version, as in the injection of Pods.
func (p *Plugin) checkRevision(ctx context.Context, set, old *apps.SidecarSet) (field.ErrorList, error) {
	revision := set.Spec.InjectionStrategy.Revision
	if revision == nil || old != nil && apiequality.Semantic.DeepEqual(revision, old.Spec.InjectionStrategy.Revision) {
		return nil, nil
	}
	at := field.NewPath("spec", "injectionStrategy", "revision")
	if name := ptr.Deref(revision.RevisionName, ""); name != "" {
		return p.checkRevisionName(ctx, set, name, at.Child("revisionName"))
	}
	if version := ptr.Deref(revision.CustomVersion, ""); version != "" {
		return p.checkCustomVersion(ctx, set, version, at.Child("customVersion"))
	}
	return nil, nil
}

// checkRevisionName requires a ControllerRevision with the name that stores a version of this SidecarSet. A revision of
// another SidecarSet gets the same answer as a missing one.
func (p *Plugin) checkRevisionName(ctx context.Context, set *apps.SidecarSet, name string, at *field.Path) (field.ErrorList, error) {
	revision, err := p.Host.AppsV1().ControllerRevisions(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return field.ErrorList{p.noRevision(set, at, name)}, nil
	case err != nil:
		return nil, fmt.Errorf("get ControllerRevision %s: %w", name, err)
	case !sidecar.Stores(revision, set):
		return field.ErrorList{p.noRevision(set, at, name)}, nil
	default:
		return nil, nil
	}
}

// checkCustomVersion requires at least one revision with the version. The version becomes the value of a label
// selector, so it must be valid as one before it is sent.
func (p *Plugin) checkCustomVersion(ctx context.Context, set *apps.SidecarSet, version string, at *field.Path) (field.ErrorList, error) {
	if problems := validation.IsValidLabelValue(version); len(problems) > 0 {
		return field.ErrorList{field.Invalid(at, version, "is not a valid label value: "+strings.Join(problems, "; "))}, nil
	}
	selector := labels.Set{pub.SidecarSetNameKey: set.Name, pub.SidecarSetCustomVersionKey: version}.String()
	revisions, err := p.Host.AppsV1().ControllerRevisions(p.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list ControllerRevisions of version %s: %w", version, err)
	}
	for i := range revisions.Items {
		if sidecar.Stores(&revisions.Items[i], set) {
			return nil, nil
		}
	}
	return field.ErrorList{p.noRevision(set, at, version)}, nil
}

// noRevision returns the error for a missing revision, with a command that lists the existing ones.
func (p *Plugin) noRevision(set *apps.SidecarSet, at *field.Path, value string) *field.Error {
	return field.Invalid(at, value, fmt.Sprintf(
		"cannot find specific ControllerRevision of this SidecarSet; to list them, run: kubectl get controllerrevisions -n %s -l %s=%s",
		p.Namespace, pub.SidecarSetNameKey, set.Name))
}
