package rest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
)

// The watch cache looks up the watches of an event by the value of its object, if their predicate requires one exactly.
func TestWatchesOfALabelAreIndexed(t *testing.T) {
	store := &registry.Store{}
	options := &generic.StoreOptions{}
	watchByLabel(store, options, "node", true)
	triggers := options.TriggerFunc
	require.Contains(t, triggers, watchField)
	of := func(node string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "r", Labels: map[string]string{"node": node, "active": "true"},
		}}
	}
	assert.Equal(t, "n1", triggers[watchField](of("n1")))
	assert.Empty(t, triggers[watchField](&metav1.PartialObjectMetadata{}))
	tests := map[string]struct {
		selector      string
		indexed       bool
		first, second bool
	}{
		"one node":    {"active=true,node=n1", true, true, false},
		"in a set":    {"node in (n1)", true, true, false},
		"two nodes":   {"node in (n1,n2)", false, true, true},
		"other nodes": {"node!=n1", false, false, true},
		"no node":     {"active=true", false, true, true},
		"everything":  {"", false, true, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			selector, err := labels.Parse(tc.selector)
			require.NoError(t, err)
			predicate := store.PredicateFunc(selector, fields.OneTermEqualSelector("metadata.name", "r"))
			require.Contains(t, predicate.IndexFields, watchField)
			value, exact := predicate.Field.RequiresExactMatch(watchField)
			assert.Equal(t, tc.indexed, exact)
			if exact {
				assert.Equal(t, "n1", value)
			}
			for node, want := range map[string]bool{"n1": tc.first, "n2": tc.second} {
				got, err := predicate.Matches(of(node))
				require.NoError(t, err)
				assert.Equal(t, want, got, node)
				labelled, fielded, err := options.AttrFunc(of(node))
				require.NoError(t, err)
				assert.Equal(t, want, predicate.MatchesObjectAttributes(labelled, fielded), "the watch cache finds the same")
			}
			other := of("n1")
			other.Name = "other"
			got, err := predicate.Matches(other)
			require.NoError(t, err)
			assert.False(t, got, "other fields are selected as before")
		})
	}
}
