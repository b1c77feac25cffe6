package validation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules"
)

// NamespaceLabels returns the labels of a namespace, or false if it does not exist.
type NamespaceLabels func(name string) (labels.Set, bool, error)

// ValidateSidecarSetConflicts finds containers, volumes and annotations that conflict with another
// SidecarSet that can select the same Pods. A canary and its base do not conflict, because a Pod gets only
// one of them. The second result is an error of namespaces.
func ValidateSidecarSetConflicts(set *apps.SidecarSet, others []*apps.SidecarSet, namespaces NamespaceLabels) (field.ErrorList, error) {
	var errs field.ErrorList
	for _, other := range others {
		if other.Name == set.Name || baseOf(set) == other.Name || baseOf(other) == set.Name {
			continue
		}
		found := conflicts(set, other)
		if len(found) == 0 {
			continue
		}
		meet, err := samePods(&set.Spec, &other.Spec, namespaces)
		if err != nil {
			return nil, err
		}
		if meet {
			errs = append(errs, found...)
		}
	}
	return errs, nil
}

// baseOf is the name of the SidecarSet that this canary belongs to, or empty.
func baseOf(set *apps.SidecarSet) string {
	if set.Annotations[pub.SidecarSetCanaryKey] != "true" {
		return ""
	}
	return set.Annotations[pub.SidecarSetBaseKey]
}

// conflicts are what both add, if they ever meet.
func conflicts(set, other *apps.SidecarSet) field.ErrorList {
	spec := field.NewPath("spec")
	errs := containerConflicts(set, other, spec)
	errs = append(errs, volumeConflicts(set, other, spec.Child("volumes"))...)
	return append(errs, annotationConflicts(set, other, spec.Child("patchPodMetadata"))...)
}

const separate = "; use another one, or let the two select different Pods"

// containerConflicts finds containers with the same name. Annotations of Pods name a container of a hot upgrade by its name in the
// SidecarSet, so this name is taken too.
func containerConflicts(set, other *apps.SidecarSet, path *field.Path) field.ErrorList {
	taken, annotated := map[string]bool{}, map[string]bool{}
	eachSidecar(&other.Spec, path, func(container *apps.SidecarContainer, initContainer bool, _ *field.Path) {
		for _, name := range container.NamesInPod(initContainer) {
			taken[name] = true
		}
		if !initContainer {
			annotated[container.Name] = true
		}
	})
	var errs field.ErrorList
	eachSidecar(&set.Spec, path, func(container *apps.SidecarContainer, initContainer bool, at *field.Path) {
		clash := func(name string) {
			errs = append(errs, field.Invalid(at.Child("name"), container.Name,
				fmt.Sprintf("container %s already exists in SidecarSet %s%s", name, other.Name, separate)))
		}
		for _, name := range container.NamesInPod(initContainer) {
			if taken[name] {
				clash(name)
				return
			}
		}
		if !initContainer && annotated[container.Name] {
			clash(container.Name)
		}
	})
	return errs
}

func volumeConflicts(set, other *apps.SidecarSet, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	theirs := map[string]*corev1.Volume{}
	for i := range other.Spec.Volumes {
		theirs[other.Spec.Volumes[i].Name] = &other.Spec.Volumes[i]
	}
	for i := range set.Spec.Volumes {
		volume := &set.Spec.Volumes[i]
		if their := theirs[volume.Name]; their != nil && !apiequality.Semantic.DeepEqual(volume, their) {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), volume.Name,
				fmt.Sprintf("the volume is in conflict with a volume of SidecarSet %s, which has another source%s", other.Name, separate)))
		}
	}
	return errs
}

// annotationConflicts finds a key that both write, one of them whatever the other wrote.
func annotationConflicts(set, other *apps.SidecarSet, path *field.Path) field.ErrorList {
	theirs := map[string]apps.SidecarSetPatchPolicyType{}
	for i := range other.Spec.PatchPodMetadata {
		for key := range other.Spec.PatchPodMetadata[i].Annotations {
			theirs[key] = other.Spec.PatchPodMetadata[i].PatchPolicy
		}
	}
	var errs field.ErrorList
	for i := range set.Spec.PatchPodMetadata {
		patch := &set.Spec.PatchPodMetadata[i]
		for _, key := range slices.Sorted(maps.Keys(patch.Annotations)) {
			if policy, found := theirs[key]; found && overwrites(patch.PatchPolicy, policy) {
				errs = append(errs, field.Invalid(path.Index(i).Child("annotations").Key(key), string(patch.PatchPolicy),
					fmt.Sprintf("the annotation is in conflict with SidecarSet %s, whose patchPolicy is %s%s", other.Name, policy, separate)))
			}
		}
	}
	return errs
}

func overwrites(a, b apps.SidecarSetPatchPolicyType) bool {
	if a == apps.SidecarSetRetainPatchPolicy || b == apps.SidecarSetRetainPatchPolicy {
		return false
	}
	return a == apps.SidecarSetOverwritePatchPolicy || b == apps.SidecarSetOverwritePatchPolicy
}

// samePods says whether a Pod may exist, or come, that both select.
func samePods(a, b *apps.SidecarSetSpec, namespaces NamespaceLabels) (bool, error) {
	if a.Selector == nil || b.Selector == nil || rules.Disjoint(a.Selector, b.Selector) {
		return false, nil
	}
	return sameNamespace(a, b, namespaces)
}

func sameNamespace(a, b *apps.SidecarSetSpec, namespaces NamespaceLabels) (bool, error) {
	mine, onlyMine := oneNamespace(a)
	theirs, onlyTheirs := oneNamespace(b)
	switch {
	case onlyMine && onlyTheirs:
		return mine == theirs, nil
	case onlyMine:
		return selectsNamespace(b.NamespaceSelector, mine, namespaces)
	case onlyTheirs:
		return selectsNamespace(a.NamespaceSelector, theirs, namespaces)
	case a.NamespaceSelector == nil || b.NamespaceSelector == nil:
		return true, nil
	default:
		return !rules.Disjoint(a.NamespaceSelector, b.NamespaceSelector), nil
	}
}

// oneNamespace is the namespace that the SidecarSet is limited to by name.
func oneNamespace(spec *apps.SidecarSetSpec) (string, bool) {
	name := cmp.Or(spec.Namespace, apps.SelectedNamespace(spec.NamespaceSelector))
	return name, name != ""
}

// selectsNamespace looks at the labels that the namespace has now. No selector selects all.
func selectsNamespace(selector *metav1.LabelSelector, name string, namespaces NamespaceLabels) (bool, error) {
	if selector == nil {
		return true, nil
	}
	values, found, err := namespaces(name)
	if err != nil || !found {
		return false, err
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, fmt.Errorf("read a stored namespaceSelector: %w", err)
	}
	return matcher.Matches(values), nil
}
