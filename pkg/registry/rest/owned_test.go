package rest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
)

// listed remembers what was asked for.
type listed struct {
	oneObject
	asked storage.SelectionPredicate
}

func (l *listed) GetList(ctx context.Context, key string, opts storage.ListOptions, out runtime.Object) error {
	l.asked = opts.Predicate
	return l.oneObject.GetList(ctx, key, opts, out)
}

// The dependents of an owner are found by the index of the watch cache. A list of a namespace for each deleted object would cost the
// square of their number.
func TestDependentsAreFoundByTheIndex(t *testing.T) {
	stored := newSample()
	stored.Namespace, stored.OwnerReferences = "a", []metav1.OwnerReference{{UID: "first"}, {UID: "second"}}
	below := &listed{oneObject: oneObject{stored: stored}}
	samples := &store[*sample]{kind: newKind(), Store: &registry.Store{
		NewListFunc:              func() runtime.Object { return &corev1.ReplicationControllerList{} },
		KeyRootFunc:              func(context.Context) string { return "/samples" },
		DefaultQualifiedResource: schema.GroupResource{Resource: "samples"},
		Storage:                  registry.DryRunnableStorage{Storage: below},
	}}
	for owner, want := range map[string][]string{"first": {"demo"}, "second": {"demo"}, "third": nil} {
		names, err := samples.OwnedBy(t.Context(), "a", types.UID(owner))
		require.NoError(t, err)
		assert.Equal(t, want, names, owner)
		assert.Equal(t, []storage.MatchValue{{IndexName: "f:owner", Value: owner}}, below.asked.MatcherIndex(t.Context()))
		assert.True(t, below.asked.MatchesObjectAttributes(nil, nil), "the index alone decides, an object can have several owners")
	}
	names, err := samples.OwnedBy(t.Context(), "b", "first")
	require.NoError(t, err)
	assert.Empty(t, names, "a store without an index returns other objects too")
	names, err = samples.OwnedBy(t.Context(), "", "first")
	require.NoError(t, err)
	assert.Equal(t, []string{"demo"}, names, "of all namespaces")

	values, err := (*byOwners())["f:owner"](stored)
	require.NoError(t, err)
	assert.Equal(t, []string{"first", "second"}, values)
}
