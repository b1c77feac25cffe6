// Package selectorindex finds the selectors that select an object, and the objects that a selector selects, through an index
// instead of a scan. A selector is indexed by one of its requirements, which an object must meet to be selected. An object is
// indexed by every requirement that its labels meet. Callers must still match the objects that the index finds against the whole
// selector.
package selectorindex

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Parse returns the parsed selector. A nil, empty or invalid selector selects nothing.
func Parse(selector *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || parsed.Empty() {
		return labels.Nothing()
	}
	return parsed
}

// maxAnchors is how many values of a selector are index values. A requirement with more is indexed by its key alone: users choose how many
// values it has, and each index value takes memory.
const maxAnchors = 64

// Anchors returns the index values of a selector. An object that the selector selects has exactly one of them among its Values.
// There are as few anchors as the selector allows: one for a label with one value, and the namespace itself if every requirement
// is negative.
func Anchors(namespace string, selector labels.Selector) []string {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil
	}
	anchors := []string{namespace}
	exact := false
	for i := range requirements {
		requirement := &requirements[i]
		switch requirement.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			// The requirement with the fewest values is the best. A label that only has to exist is better than none.
			values := requirement.Values()
			switch {
			case values.Len() <= maxAnchors && (!exact || values.Len() < len(anchors)):
				anchors, exact = labelValues(namespace, requirement.Key(), values.List()), true
			case !exact:
				anchors = []string{labelKey(namespace, requirement.Key())}
			}
		case selection.Exists, selection.GreaterThan, selection.LessThan:
			if !exact {
				anchors = []string{labelKey(namespace, requirement.Key())}
			}
		case selection.NotIn, selection.NotEquals, selection.DoesNotExist:
		}
	}
	return anchors
}

// Values returns the index values of an object with the labels. Each label counts with its value and by its key alone, because
// a selector may name either.
func Values(namespace string, set map[string]string) []string {
	values := make([]string, 0, 2*len(set)+1)
	for key, value := range set {
		exact, exists := labelIndexes(namespace, key, value)
		values = append(values, exact, exists)
	}
	return append(values, namespace)
}

// maxIndexed is how many labels of an object are index values, for the same reason as maxAnchors.
const maxIndexed = 200

// Index returns the index values of an object for an index of objects. They are its Values, unless it has very many labels.
func Index(namespace string, set map[string]string) []string {
	if len(set) > maxIndexed {
		return []string{crowded(namespace)}
	}
	return Values(namespace, set)
}

// Lookups returns the values under which the objects that a selector selects are in an index of Index.
func Lookups(namespace string, selector labels.Selector) []string {
	anchors := Anchors(namespace, selector)
	if len(anchors) == 0 {
		return nil
	}
	return append(anchors, crowded(namespace))
}

// crowded is the index value of all objects of a namespace that have very many labels.
func crowded(namespace string) string { return labelKey(namespace, "") }

func labelValues(namespace, key string, values []string) []string {
	all := make([]string, 0, len(values))
	for _, value := range values {
		all = append(all, labelValue(namespace, key, value))
	}
	return all
}

func labelValue(namespace, key, value string) string { return namespace + " " + key + "=" + value }

func labelKey(namespace, key string) string { return namespace + " " + key }

// labelIndexes returns the labelValue and the labelKey of a label. The second is a part of the first, so only one string is allocated:
// several controllers call Values for each event of a Pod.
func labelIndexes(namespace, key, value string) (exact, exists string) {
	exact = labelValue(namespace, key, value)
	return exact, exact[:len(exact)-len("=")-len(value)]
}
