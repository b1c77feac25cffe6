package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Disjoint reports whether a label key proves that no labels match both selectors. Selectors for different
// keys are not disjoint.
func Disjoint(a, b *metav1.LabelSelector) bool { return RequirementsOf(a).Disjoint(RequirementsOf(b)) }

// Requirements are what a selector requires, by label key. A selector that is compared with many others is read once.
type Requirements map[string]*requirement

// Disjoint is as the function.
func (r Requirements) Disjoint(others Requirements) bool {
	for key, one := range r {
		if other, both := others[key]; both && !compatible(one, other) {
			return true
		}
	}
	return false
}

// SameKeys reports whether two selectors use exactly the same label keys, at least one.
func (r Requirements) SameKeys(others Requirements) bool {
	return len(r) > 0 && sets.KeySet(r).Equal(sets.KeySet(others))
}

// requirement is what all parts of a selector together require of one label. A selector can have many parts for one key, so they are put
// together before two selectors are compared.
type requirement struct {
	// present and absent are true if the label must exist, or must not. Both are true if no label matches.
	present, absent bool
	// in holds the allowed values if limited is true. notIn holds the values that are not allowed.
	limited   bool
	in, notIn sets.Set[string]
}

// RequirementsOf reads a selector. It returns none for nil.
func RequirementsOf(selector *metav1.LabelSelector) Requirements {
	result := Requirements{}
	if selector == nil {
		return result
	}
	of := func(key string) *requirement {
		if result[key] == nil {
			result[key] = &requirement{notIn: sets.New[string]()}
		}
		return result[key]
	}
	for key, value := range selector.MatchLabels {
		of(key).limit([]string{value})
	}
	for i := range selector.MatchExpressions {
		switch part := &selector.MatchExpressions[i]; part.Operator {
		case metav1.LabelSelectorOpIn:
			of(part.Key).limit(part.Values)
		case metav1.LabelSelectorOpNotIn:
			of(part.Key).notIn.Insert(part.Values...)
		case metav1.LabelSelectorOpExists:
			of(part.Key).present = true
		case metav1.LabelSelectorOpDoesNotExist:
			of(part.Key).absent = true
		default:
			of(part.Key) // Validation refuses it.
		}
	}
	return result
}

// limit allows only the given values, and of those only the ones that were allowed before.
func (r *requirement) limit(values []string) {
	allowed := sets.New(values...)
	for value := range allowed {
		if r.limited && !r.in.Has(value) {
			allowed.Delete(value)
		}
	}
	r.present, r.limited, r.in = true, true, allowed
}

// compatible reports whether a label value, or a missing label, satisfies both requirements for one key.
func compatible(a, b *requirement) bool {
	if a.absent || b.absent {
		return !a.present && !b.present
	}
	if b.limited {
		a, b = b, a
	}
	if !a.limited {
		return true
	}
	for value := range a.in {
		if (!b.limited || b.in.Has(value)) && !a.notIn.Has(value) && !b.notIn.Has(value) {
			return true
		}
	}
	return false
}
