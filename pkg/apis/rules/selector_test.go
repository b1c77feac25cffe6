package rules_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/rules"
)

func TestDisjoint(t *testing.T) {
	for name, test := range map[string]struct {
		a, b string
		want bool
	}{
		"equal":                         {"a=1", "a=1", false},
		"another value":                 {"a=1", "a=2", true},
		"another key":                   {"a=1", "b=2", false},
		"one key of two proves it":      {"a=1,b=1", "a=1,b=2", true},
		"in with a common value":        {"a in (1,2)", "a in (2,3)", false},
		"in without a common value":     {"a in (1,2)", "a in (3)", true},
		"all values are excluded":       {"a in (1,2)", "a notin (1,2,3)", true},
		"a value is left":               {"a in (1,2)", "a notin (1)", false},
		"equals and absent":             {"a=1", "!a", true},
		"present and absent":            {"a", "!a", true},
		"in and absent":                 {"a in (1)", "!a", true},
		"excluded values and absent":    {"a notin (1)", "!a", false},
		"both absent":                   {"!a", "!a", false},
		"present and a value":           {"a", "a=1", false},
		"only together without a value": {"a in (1,2),a in (2,3)", "a in (1,3)", true},
		"only together excluded":        {"a in (1,2)", "a notin (1),a notin (2)", true},
		"present and a key left out":    {"a", "b=1", false},
		"excluded values on both sides": {"a notin (1)", "a notin (2)", false},
		"present and an excluded value": {"a", "a notin (1)", false},
		"nothing is asked":              {"", "a=1", false},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := metav1.ParseToLabelSelector(test.a)
			require.NoError(t, err)
			b, err := metav1.ParseToLabelSelector(test.b)
			require.NoError(t, err)
			require.Equal(t, test.want, rules.Disjoint(a, b))
			require.Equal(t, test.want, rules.Disjoint(b, a), "the other way round")
		})
	}
}

// A selector can have as many parts for one key as fit into an object, and is compared with those of all others of a namespace. Each part
// with each other would take minutes.
func TestManyPartsForOneKey(t *testing.T) {
	selector := &metav1.LabelSelector{}
	for i := range 30_000 {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: "a", Operator: metav1.LabelSelectorOpNotIn, Values: []string{fmt.Sprint(i)},
		})
	}
	require.False(t, rules.Disjoint(selector, selector))
	require.True(t, rules.Disjoint(selector, &metav1.LabelSelector{MatchLabels: map[string]string{"a": "7"}}))
}

func TestSameKeys(t *testing.T) {
	for name, test := range map[string]struct {
		a, b string
		want bool
	}{
		"one":                 {"a=1", "a=2", true},
		"in another order":    {"a=1,b", "!b,a in (1,2)", true},
		"one more":            {"a=1,b=1", "a=1", false},
		"another":             {"a=1", "b=1", false},
		"none on either side": {"", "", false},
		"one, and none":       {"a=1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := metav1.ParseToLabelSelector(test.a)
			require.NoError(t, err)
			b, err := metav1.ParseToLabelSelector(test.b)
			require.NoError(t, err)
			require.Equal(t, test.want, rules.RequirementsOf(a).SameKeys(rules.RequirementsOf(b)))
			require.Equal(t, test.want, rules.RequirementsOf(b).SameKeys(rules.RequirementsOf(a)), "the other way round")
		})
	}
}
