package disruption

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

func withTarget(name, apiVersion, kind, target string) *v1beta1.PodUnavailableBudget {
	return newBudget(func(b *v1beta1.PodUnavailableBudget) {
		b.Name, b.Spec.TargetRef = name, &v1beta1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: target}
	})
}

func withSelector(name string, selector metav1.LabelSelector) *v1beta1.PodUnavailableBudget {
	return newBudget(func(b *v1beta1.PodUnavailableBudget) { b.Name, b.Spec.Selector = name, &selector })
}

func expression(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func TestGoverning(t *testing.T) {
	web := Workload{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Name: "web"}
	set := Workload{GroupKind: schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Name: "web-1"}
	app := metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	tests := map[string]struct {
		budgets   []*v1beta1.PodUnavailableBudget
		workloads []Workload
		want      string
	}{
		"none":                          {nil, []Workload{set, web}, ""},
		"target first":                  {[]*v1beta1.PodUnavailableBudget{withTarget("z", "apps/v1", "Deployment", "web"), withSelector("a", app)}, []Workload{set, web}, "z"},
		"whatever the version":          {[]*v1beta1.PodUnavailableBudget{withTarget("z", "apps/v1beta7", "Deployment", "web")}, []Workload{set, web}, "z"},
		"of another group":              {[]*v1beta1.PodUnavailableBudget{withTarget("z", "mine/v1", "Deployment", "web")}, []Workload{set, web}, ""},
		"then by name":                  {[]*v1beta1.PodUnavailableBudget{withSelector("c", app), withSelector("b", app)}, nil, "b"},
		"two targets by name":           {[]*v1beta1.PodUnavailableBudget{withTarget("b", "apps/v1", "ReplicaSet", "web-1"), withTarget("a", "apps/v1", "Deployment", "web")}, []Workload{set, web}, "a"},
		"by one of several values":      {[]*v1beta1.PodUnavailableBudget{withSelector("b", expression("app", metav1.LabelSelectorOpIn, "x", "web"))}, nil, "b"},
		"by a key":                      {[]*v1beta1.PodUnavailableBudget{withSelector("b", expression("app", metav1.LabelSelectorOpExists))}, nil, "b"},
		"by what it does not have":      {[]*v1beta1.PodUnavailableBudget{withSelector("b", expression("old", metav1.LabelSelectorOpDoesNotExist))}, nil, "b"},
		"by what it is not":             {[]*v1beta1.PodUnavailableBudget{withSelector("b", expression("app", metav1.LabelSelectorOpNotIn, "x"))}, nil, "b"},
		"not by what it is":             {[]*v1beta1.PodUnavailableBudget{withSelector("b", expression("app", metav1.LabelSelectorOpNotIn, "web"))}, nil, ""},
		"not by half of what it is":     {[]*v1beta1.PodUnavailableBudget{withSelector("b", metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "tier": "x"}})}, nil, ""},
		"not by an empty selector":      {[]*v1beta1.PodUnavailableBudget{withSelector("b", metav1.LabelSelector{})}, nil, ""},
		"not from another namespace":    {[]*v1beta1.PodUnavailableBudget{elsewhere(withSelector("b", app)), elsewhere(withTarget("z", "apps/v1", "Deployment", "web"))}, []Workload{set, web}, ""},
		"not by a target that it isn't": {[]*v1beta1.PodUnavailableBudget{withTarget("z", "apps/v1", "Deployment", "other")}, []Workload{set, web}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, Indexers())
			for _, budget := range test.budgets {
				require.NoError(t, indexer.Add(budget))
			}
			got, err := Governing(indexer, "ns", map[string]string{"app": "web"}, test.workloads)
			require.NoError(t, err)
			if test.want == "" {
				assert.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			assert.Equal(t, test.want, got.Name)
			matching, err := Matching(indexer, "ns", map[string]string{"app": "web"}, test.workloads)
			require.NoError(t, err)
			assert.Len(t, matching, len(test.budgets))
		})
	}
}

func elsewhere(budget *v1beta1.PodUnavailableBudget) *v1beta1.PodUnavailableBudget {
	budget.Namespace = "other"
	return budget
}

func TestHints(t *testing.T) {
	assert.Equal(t, "new", Hinted(map[string]string{"kruise.io/related-pub": "old", "pub.kruise.io/related-pub": "new"}))
	assert.Equal(t, "old", Hinted(map[string]string{"kruise.io/related-pub": "old"}))
	assert.Empty(t, Hinted(nil))
	assert.True(t, FoundByScale(withTarget("b", "example.com/v1", "Game", "g")))
	assert.False(t, FoundByScale(withTarget("b", "apps/v1", "Deployment", "g")))
	assert.False(t, FoundByScale(newBudget()))
}
