package selectorindex_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/workload/selectorindex"
)

// Every object that a selector selects is found under exactly one of the selector's anchors. So no object is missed and none is
// found twice.
func TestSelectedObjectsAreFoundOnce(t *testing.T) {
	objects := []map[string]string{
		nil, {"app": "web"}, {"app": "db"}, {"app": "web", "tier": "a"}, {"app": "", "tier": "b"}, {"tier": "c"}, {"size": "3"},
	}
	for _, text := range []string{
		"", "app=web", "app in (web,db)", "app in (web,db),tier=a", "app", "!app", "app!=web", "app notin (web,db),tier", "size>2",
		"app,app!=db,tier in (a,b)",
	} {
		selector, err := labels.Parse(text)
		require.NoError(t, err)
		anchors := selectorindex.Anchors("ns", selector)
		for _, set := range objects {
			found := 0
			for _, value := range selectorindex.Values("ns", set) {
				if slices.Contains(anchors, value) {
					found++
				}
			}
			if selector.Matches(labels.Set(set)) {
				assert.Equal(t, 1, found, "%q and %v", text, set)
			}
			for _, value := range selectorindex.Values("other", set) {
				assert.NotContains(t, anchors, value)
			}
		}
	}
}

// The fewer and rarer the anchors of a selector are, the fewer objects the index finds that the selector does not select.
func TestAnchorsAreAsFewAsPossible(t *testing.T) {
	for text, want := range map[string][]string{
		"a in (x,y),b=z,c": {"ns b=z"},
		"a in (x,y),c":     {"ns a=x", "ns a=y"},
		"!a,c":             {"ns c"},
		"!a":               {"ns"},
	} {
		selector, err := labels.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, selectorindex.Anchors("ns", selector), text)
	}
	assert.Empty(t, selectorindex.Anchors("ns", labels.Nothing()))
}

// Users choose the number of values and labels, and each index value takes memory.
func TestManyValuesAndLabelsTakeFewIndexValues(t *testing.T) {
	values, many := make([]string, 0, 1000), map[string]string{"a": "v7"}
	for i := range 1000 {
		values = append(values, fmt.Sprint("v", i))
		many[fmt.Sprint("l", i)] = ""
	}
	selector := selectorindex.Parse(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In", Values: values}}})
	assert.Equal(t, []string{"ns a"}, selectorindex.Anchors("ns", selector))
	assert.Contains(t, selectorindex.Values("ns", map[string]string{"a": "v7"}), selectorindex.Anchors("ns", selector)[0])

	assert.Len(t, selectorindex.Index("ns", many), 1)
	assert.Contains(t, selectorindex.Lookups("ns", selector), selectorindex.Index("ns", many)[0], "it is found")
	assert.Equal(t, selectorindex.Values("ns", map[string]string{"a": "b"})[2], selectorindex.Index("ns", map[string]string{"a": "b"})[2])
	assert.Empty(t, selectorindex.Lookups("ns", selectorindex.Parse(nil)), "it selects nothing")
}

func BenchmarkValues(b *testing.B) {
	set := map[string]string{
		"app": "web", "apps.kruise.io/cloneset-instance-id": "7b6v7", "controller-revision-hash": "web-5654fb6bcf",
		"lifecycle.apps.kruise.io/state": "Normal", "pod-template-hash": "5654fb6bcf",
	}
	b.ReportAllocs()
	for b.Loop() {
		selectorindex.Values("default", set)
	}
}
