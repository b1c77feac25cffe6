package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Disjoint reports whether a label key proves that no labels match both selectors. Selectors for different
// keys are not disjoint.
func Disjoint(a, b *metav1.LabelSelector) bool {
	theirs := requirements(b)
	for key, ours := range requirements(a) {
		for _, one := range ours {
			for _, other := range theirs[key] {
				if !compatible(one, other) {
					return true
				}
			}
		}
	}
	return false
}

// SameKeys reports whether two selectors use exactly the same label keys, at least one.
func SameKeys(a, b *metav1.LabelSelector) bool {
	keys := sets.KeySet(requirements(a))
	return keys.Len() > 0 && keys.Equal(sets.KeySet(requirements(b)))
}

// requirements are the parts of a selector, by the label's key.
func requirements(selector *metav1.LabelSelector) map[string][]metav1.LabelSelectorRequirement {
	result := map[string][]metav1.LabelSelectorRequirement{}
	for key, value := range selector.MatchLabels {
		result[key] = append(result[key], metav1.LabelSelectorRequirement{
			Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value},
		})
	}
	for _, requirement := range selector.MatchExpressions {
		result[requirement.Key] = append(result[requirement.Key], requirement)
	}
	return result
}

// compatible reports whether a label value, or a missing label, satisfies both requirements for one key.
func compatible(a, b metav1.LabelSelectorRequirement) bool {
	if a.Operator == metav1.LabelSelectorOpDoesNotExist || b.Operator == metav1.LabelSelectorOpDoesNotExist {
		return !needsLabel(a) && !needsLabel(b)
	}
	if b.Operator == metav1.LabelSelectorOpIn {
		a, b = b, a
	}
	if a.Operator != metav1.LabelSelectorOpIn {
		return true
	}
	switch b.Operator {
	case metav1.LabelSelectorOpIn:
		return sets.New(a.Values...).HasAny(b.Values...)
	case metav1.LabelSelectorOpNotIn:
		return !sets.New(b.Values...).HasAll(a.Values...)
	default:
		return true
	}
}

func needsLabel(requirement metav1.LabelSelectorRequirement) bool {
	return requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpExists
}
