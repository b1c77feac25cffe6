package sidecarset

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules"
)

// checkOthers checks the SidecarSet against all others. An update may keep a conflict that the stored SidecarSet already has.
func (p *Plugin) checkOthers(ctx context.Context, set, old *apps.SidecarSet) (field.ErrorList, error) {
	others, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	errs, err := p.conflicts(ctx, set, old, others)
	if err != nil {
		return nil, err
	}
	// The base is checked only when the SidecarSet becomes a canary. Later, the base can be deleted without blocking
	// updates of the canary.
	if old == nil || set.Annotations[pub.SidecarSetCanaryKey] != old.Annotations[pub.SidecarSetCanaryKey] {
		errs = append(errs, checkBase(set, others)...)
	}
	return errs, nil
}

// conflicts returns the conflicts that the stored SidecarSet does not have. The stored one is compared with the same
// list of others, so a conflict that another SidecarSet caused does not block updates of this one.
func (p *Plugin) conflicts(ctx context.Context, set, old *apps.SidecarSet, others []*apps.SidecarSet) (field.ErrorList, error) {
	others, err := p.withPinned(ctx, others)
	if err != nil {
		return nil, err
	}
	errs, err := p.clashes(ctx, set, others)
	if err != nil {
		return nil, err
	}
	if old != nil && len(errs) > 0 {
		// Conflicts are rare, so the stored object is checked only when the new one has some.
		stored, err := p.clashes(ctx, old, others)
		if err != nil {
			return nil, err
		}
		errs = rules.WithoutStored(set, old, errs, func() field.ErrorList { return stored })
	}
	return errs, nil
}

// list reads all SidecarSets live. The one that is written may be among them, in its stored form; the validation
// skips it by name.
func (p *Plugin) list(ctx context.Context) ([]*apps.SidecarSet, error) {
	stored, err := p.Kruise.AppsV1beta1().SidecarSets().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list SidecarSets: %w", err)
	}
	return internal(stored.Items)
}

// internal converts SidecarSets to the form in which they are checked.
func internal(stored []v1beta1.SidecarSet) ([]*apps.SidecarSet, error) {
	sets := make([]*apps.SidecarSet, len(stored))
	for i := range stored {
		sets[i] = &apps.SidecarSet{}
		if err := v1beta1.Convert_v1beta1_SidecarSet_To_apps_SidecarSet(&stored[i], sets[i], nil); err != nil {
			return nil, fmt.Errorf("read SidecarSet %s: %w", stored[i].Name, err)
		}
	}
	return sets, nil
}

// namespaceLabels returns a function that reads the labels of a namespace live. Validation calls it only if both
// SidecarSets have to be compared by a namespace selector. A missing namespace is no error: its SidecarSets meet in
// no Pod.
func (p *Plugin) namespaceLabels(ctx context.Context) validation.NamespaceLabels {
	return func(name string) (labels.Set, bool, error) {
		namespace, err := p.Host.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("get namespace %s: %w", name, err)
		}
		return namespace.Labels, true, nil
	}
}

// checkBase requires that the base of a canary exists and is not a canary itself. A canary replaces its base in new
// Pods, and a chain of canaries has no single base to replace. A missing name is an error of validation.
func checkBase(set *apps.SidecarSet, others []*apps.SidecarSet) field.ErrorList {
	name := set.Annotations[pub.SidecarSetBaseKey]
	if set.Annotations[pub.SidecarSetCanaryKey] != "true" || name == "" {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(pub.SidecarSetBaseKey)
	i := slices.IndexFunc(others, func(other *apps.SidecarSet) bool { return other.Name == name })
	switch {
	case i < 0:
		return field.ErrorList{field.NotFound(at, name)}
	case others[i].Annotations[pub.SidecarSetCanaryKey] == "true":
		return field.ErrorList{field.Invalid(at, name, "this SidecarSet is a canary itself; name its base")}
	default:
		return nil
	}
}
