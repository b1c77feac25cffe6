package sidecar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// The index finds the same SidecarSets as a scan of all.
// Case sidecarset 9.
func TestIndexFindsWhatAScanFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, Indexers())
		var sets []*v1beta1.SidecarSet
		for i := range 30 {
			set := &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("set-%02d", i)}}
			set.Spec.Selector = randomSelector(r, "a", "b", "c")
			if r.IntN(2) == 0 {
				set.Spec.NamespaceSelector = randomSelector(r, "kubernetes.io/metadata.name", "env", "kubernetes.io/metadata.name")
			}
			sets = append(sets, set)
			require.NoError(t, indexer.Add(set))
		}
		for range 30 {
			namespace := fmt.Sprint(r.IntN(3))
			values := labels.Set{"kubernetes.io/metadata.name": namespace, "env": fmt.Sprint(r.IntN(3))}
			pod := map[string]string{}
			for _, key := range []string{"a", "b", "c"} {
				if r.IntN(3) > 0 {
					pod[key] = fmt.Sprint(r.IntN(3))
				}
			}
			var want []string
			for _, set := range sets {
				if SelectsLabels(set, pod) && SelectsNamespace(set, values) {
					want = append(want, set.Name)
				}
			}
			found, err := Matching(indexer, namespace, pod, func() (labels.Set, bool, error) { return values, true, nil })
			require.NoError(t, err)
			var have []string
			for _, set := range found {
				have = append(have, set.Name)
			}
			require.Equal(t, want, have, "round %d: Pod %v in %v", round, pod, values)
		}
	}
}

func randomSelector(r *rand.Rand, keys ...string) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	for range r.IntN(3) {
		key := keys[r.IntN(len(keys))]
		if r.IntN(2) == 0 {
			selector.MatchLabels = map[string]string{key: fmt.Sprint(r.IntN(3))}
			continue
		}
		operators := []metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
		}
		requirement := metav1.LabelSelectorRequirement{Key: key, Operator: operators[r.IntN(len(operators))]}
		if requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpNotIn {
			requirement.Values = []string{fmt.Sprint(r.IntN(3)), fmt.Sprint(r.IntN(3))}
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return selector
}

// Namespaces are not read for a Pod that no SidecarSet selects, nor for SidecarSets of all namespaces.
func TestNamespaceIsOnlyReadIfItMatters(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, Indexers())
	require.NoError(t, indexer.Add(&v1beta1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec:       v1beta1.SidecarSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}},
	}))
	for value, want := range map[string]int{"1": 1, "2": 0} {
		found, err := Matching(indexer, "ns", map[string]string{"a": value}, func() (labels.Set, bool, error) {
			assert.Fail(t, "the namespace was read")
			return nil, false, nil
		})
		require.NoError(t, err)
		assert.Len(t, found, want)
	}
}

func TestListOfVeryManySidecarSetsIsNotRead(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kruise.io/sidecarset-injected-list": "a,b"}}}
	assert.Equal(t, []string{"a", "b"}, InjectedSets(pod))
	pod.Annotations["kruise.io/sidecarset-injected-list"] = strings.Repeat("a,", 1000) + "a"
	assert.Empty(t, InjectedSets(pod))
}
