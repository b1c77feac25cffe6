package sidecar

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// anchorIndex finds SidecarSets by a namespace and a label that their Pods have. A SidecarSet has a value for each namespace
// that it names, or for any namespace.
const anchorIndex = "sidecarSetAnchors"

// Indexers returns the indexes of SidecarSets that this package reads.
func Indexers() cache.Indexers { return cache.Indexers{anchorIndex: anchors} }

// anchors is the index function of anchorIndex.
func anchors(obj any) (values []string, err error) {
	set, ok := obj.(*v1beta1.SidecarSet)
	if !ok {
		return nil, nil
	}
	selector := selectorindex.Parse(set.Spec.Selector)
	for _, scope := range scopes(set.Spec.NamespaceSelector) {
		values = append(values, selectorindex.Anchors(scope, selector)...)
	}
	return values, nil
}

// scopes returns the namespaces that the selector names, or one empty string if it selects by other labels. The index then
// finds the SidecarSet for each namespace, and inNamespace decides.
func scopes(selector *metav1.LabelSelector) []string {
	if selector == nil {
		return []string{""}
	}
	if name, found := selector.MatchLabels[corev1.LabelMetadataName]; found {
		return []string{name}
	}
	for _, requirement := range selector.MatchExpressions {
		if requirement.Key == corev1.LabelMetadataName && requirement.Operator == metav1.LabelSelectorOpIn {
			return slices.Compact(slices.Sorted(slices.Values(requirement.Values)))
		}
	}
	return []string{""}
}

// NamespaceLabels returns the labels of the Pod's namespace, or false if the namespace does not exist. An error ends the
// search.
type NamespaceLabels func() (labels.Set, bool, error)

// Matching returns the SidecarSets that select a Pod with the labels, sorted by name. It finds them through an index. The labels
// of the namespace are only requested if they matter.
func Matching(
	sets cache.Indexer, namespace string, pod map[string]string, namespaceLabels NamespaceLabels,
) ([]*v1beta1.SidecarSet, error) {
	var found []*v1beta1.SidecarSet
	// SidecarSets that name the namespace, and those that name none.
	for _, scope := range []string{namespace, ""} {
		for _, value := range selectorindex.Values(scope, pod) {
			items, err := sets.ByIndex(anchorIndex, value)
			if err != nil {
				return nil, fmt.Errorf("look up SidecarSets: %w", err)
			}
			for _, item := range items {
				if set, ok := item.(*v1beta1.SidecarSet); ok && SelectsLabels(set, pod) {
					found = append(found, set)
				}
			}
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	slices.SortFunc(found, func(a, b *v1beta1.SidecarSet) int { return strings.Compare(a.Name, b.Name) })
	// One SidecarSet can be found by several values of the index.
	found = slices.CompactFunc(found, func(a, b *v1beta1.SidecarSet) bool { return a.Name == b.Name })
	return inNamespace(found, namespace, namespaceLabels)
}

// inNamespace returns those of the SidecarSets that select the namespace. A namespace that does not exist has only those that select by
// its name, or without a selector. The labels are requested at most once, and only if a selector needs others than the name.
func inNamespace(
	sets []*v1beta1.SidecarSet, namespace string, namespaceLabels NamespaceLabels,
) (matching []*v1beta1.SidecarSet, err error) {
	var values labels.Set
	read, exists := false, false
	for _, set := range sets {
		if byName(set) {
			if SelectsNamespace(set, map[string]string{corev1.LabelMetadataName: namespace}) {
				matching = append(matching, set)
			}
			continue
		}
		if set.Spec.NamespaceSelector != nil {
			if !read {
				if values, exists, err = namespaceLabels(); err != nil {
					return nil, err
				}
				read = true
			}
			if !exists || !SelectsNamespace(set, values) {
				continue
			}
		}
		matching = append(matching, set)
	}
	return matching, nil
}

// byName reports whether the SidecarSet selects namespaces by their names alone, which never change.
func byName(set *v1beta1.SidecarSet) bool {
	requirements, _ := Namespaces(set).Requirements()
	for i := range requirements {
		if requirements[i].Key() != corev1.LabelMetadataName {
			return false
		}
	}
	return len(requirements) > 0
}

// SelectsLabels reports whether the SidecarSet selects Pods with the labels, in the namespaces that it selects.
func SelectsLabels(set *v1beta1.SidecarSet, pod map[string]string) bool {
	return selectorindex.Parse(set.Spec.Selector).Matches(labels.Set(pod))
}

// Namespaces returns the selector of the namespaces of a SidecarSet. Without a selector, it selects all.
func Namespaces(set *v1beta1.SidecarSet) labels.Selector {
	if set.Spec.NamespaceSelector == nil {
		return labels.Everything()
	}
	return selectorindex.Parse(set.Spec.NamespaceSelector)
}

// SelectsNamespace reports whether the SidecarSet selects namespaces with the labels.
func SelectsNamespace(set *v1beta1.SidecarSet, namespace map[string]string) bool {
	return Namespaces(set).Matches(labels.Set(namespace))
}

// ForNewPods returns those of the SidecarSets that are injected into a new Pod that all of them select: not the paused ones,
// and not the bases of canaries (case 44). A paused canary replaces nothing. The given slice is not changed.
func ForNewPods(sets []*v1beta1.SidecarSet) []*v1beta1.SidecarSet {
	active := slices.DeleteFunc(slices.Clone(sets), func(set *v1beta1.SidecarSet) bool { return set.Spec.InjectionStrategy.Paused })
	bases := map[string]bool{}
	for _, set := range active {
		if set.Annotations[pub.SidecarSetCanaryKey] == "true" {
			bases[set.Annotations[pub.SidecarSetBaseKey]] = true
		}
	}
	return slices.DeleteFunc(active, func(set *v1beta1.SidecarSet) bool { return bases[set.Name] })
}

// maxInjected is how many SidecarSets a Pod can have. A list with more was written by a user, and would only take memory.
const maxInjected = 200

// InjectedSets returns the names of the SidecarSets that were injected into a Pod, as its annotation lists them. SidecarSets
// may have been deleted since.
func InjectedSets(pod *corev1.Pod) []string {
	list := pod.Annotations[pub.SidecarSetInjectedListKey]
	if list == "" || strings.Count(list, ",") >= maxInjected {
		return nil
	}
	return strings.Split(list, ",")
}
