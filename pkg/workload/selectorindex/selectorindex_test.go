package selectorindex_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
