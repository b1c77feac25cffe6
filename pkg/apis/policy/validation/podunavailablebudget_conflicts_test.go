package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func needs(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
}

// Case podunavailablebudget 21.
func TestSelectorsThatOverlap(t *testing.T) {
	const (
		in, notIn, exists, missing = metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist
	)
	is := func(key, value string) *metav1.LabelSelector { return matching(map[string]string{key: value}) }
	tests := map[string]struct {
		a, b     *metav1.LabelSelector
		conflict bool
	}{
		"a=1 and a in (1,2)":            {is("a", "1"), matching(nil, needs("a", in, "1", "2")), true},
		"a=1 and b=1":                   {is("a", "1"), is("b", "1"), false},
		"the same":                      {is("a", "1"), is("a", "1"), true},
		"other value":                   {is("a", "1"), is("a", "2"), false},
		"one key more":                  {is("a", "1"), matching(map[string]string{"a": "1", "b": "1"}), false},
		"two keys, one differs":         {matching(map[string]string{"a": "1", "b": "1"}), matching(map[string]string{"a": "1", "b": "2"}), false},
		"in and exists":                 {is("a", "1"), matching(nil, needs("a", exists)), true},
		"in and missing":                {is("a", "1"), matching(nil, needs("a", missing)), false},
		"in and not in all":             {is("a", "1"), matching(nil, needs("a", notIn, "1", "2")), false},
		"in and not in some":            {matching(nil, needs("a", in, "1", "2")), matching(nil, needs("a", notIn, "1")), true},
		"not in and not in":             {matching(nil, needs("a", notIn, "1")), matching(nil, needs("a", notIn, "2")), true},
		"not in and exists":             {matching(nil, needs("a", notIn, "1")), matching(nil, needs("a", exists)), true},
		"not in and missing":            {matching(nil, needs("a", notIn, "1")), matching(nil, needs("a", missing)), true},
		"exists and exists":             {matching(nil, needs("a", exists)), matching(nil, needs("a", exists)), true},
		"missing and missing":           {matching(nil, needs("a", missing)), matching(nil, needs("a", missing)), true},
		"exists and missing":            {matching(nil, needs("a", exists)), matching(nil, needs("a", missing)), false},
		"two requirements for one key":  {matching(map[string]string{"a": "1"}, needs("a", exists)), matching(nil, needs("a", missing)), false},
		"a selector and a target alone": {is("a", "1"), nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			budget, other := valid(), valid()
			other.Name = "other"
			budget.Spec.TargetRef, budget.Spec.Selector = nil, test.a
			if test.b != nil {
				other.Spec.TargetRef, other.Spec.Selector = nil, test.b
			}
			var want []string
			if test.conflict {
				want = []string{"spec.selector: overlaps the selector of PodUnavailableBudget other"}
			}
			rulestest.Errors(t, want, validation.ValidatePodUnavailableBudgetConflicts(budget, []*policy.PodUnavailableBudget{other}))
			if test.b != nil {
				rulestest.Errors(t, want, validation.ValidatePodUnavailableBudgetConflicts(named(other, "new"), []*policy.PodUnavailableBudget{named(budget, "other")}))
			}
		})
	}
}

// A budget of a target and one of a selector are let alone: their Pods say which governs.
func TestTargetAndSelectorDoNotConflict(t *testing.T) {
	other := named(valid(), "other")
	other.Spec.TargetRef, other.Spec.Selector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}
	require.Empty(t, validation.ValidatePodUnavailableBudgetConflicts(valid(), []*policy.PodUnavailableBudget{other}))
	require.Empty(t, validation.ValidatePodUnavailableBudgetConflicts(other, []*policy.PodUnavailableBudget{valid()}))
}

// A budget that exists already is no conflict: the store refuses it by its name.
func TestBudgetDoesNotConflictWithItself(t *testing.T) {
	require.Empty(t, validation.ValidatePodUnavailableBudgetConflicts(valid(), []*policy.PodUnavailableBudget{valid()}))
}

func named(budget *policy.PodUnavailableBudget, name string) *policy.PodUnavailableBudget {
	budget = budget.DeepCopy()
	budget.Name = name
	return budget
}

// Case podunavailablebudget 20: a target has one budget, whatever version of its kind each names.
func TestTargetsThatAreTheSame(t *testing.T) {
	tests := map[string]struct {
		change   func(*policy.TargetReference)
		conflict bool
	}{
		"the same":      {func(*policy.TargetReference) {}, true},
		"other version": {func(r *policy.TargetReference) { r.APIVersion = "apps.kruise.io/v1beta1" }, true},
		"other group":   {func(r *policy.TargetReference) { r.APIVersion = "apps/v1" }, false},
		"other kind":    {func(r *policy.TargetReference) { r.Kind = "StatefulSet" }, false},
		"other name":    {func(r *policy.TargetReference) { r.Name = "web" }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			other := named(valid(), "other")
			test.change(other.Spec.TargetRef)
			var want []string
			if test.conflict {
				want = []string{"spec.targetRef: PodUnavailableBudget other already has this target"}
			}
			rulestest.Errors(t, want, validation.ValidatePodUnavailableBudgetConflicts(valid(), []*policy.PodUnavailableBudget{other}))
		})
	}
}
