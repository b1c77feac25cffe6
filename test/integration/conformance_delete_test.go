//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// checkDelete deletes an object once, and checks that preconditions about another object fail.
func checkDelete(t *testing.T, k *kind) {
	created := k.create(t, "deleted")
	k.free(t, created)
	err := k.client().Delete(t.Context(), created.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	uid := metav1.NewUIDPreconditions(string(created.GetUID()))
	require.NoError(t, k.client().Delete(t.Context(), created.GetName(), metav1.DeleteOptions{Preconditions: uid}))
	assert.True(t, k.gone(t, created))
	err = k.client().Delete(t.Context(), created.GetName(), metav1.DeleteOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

func (k *kind) gone(t *testing.T, object *unstructured.Unstructured) bool {
	t.Helper()
	_, err := k.client().Get(t.Context(), object.GetName(), metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// checkDeleteCollection deletes the objects that a selector matches.
func checkDeleteCollection(t *testing.T, k *kind) {
	batch := "batch=" + k.run
	for _, name := range []string{"batch-1", "batch-2"} {
		created, err := k.client().Create(t.Context(), withLabel(k.object(name), "batch", k.run), metav1.CreateOptions{})
		require.NoError(t, err)
		k.free(t, created)
	}
	other := k.create(t, "no-batch")
	require.NoError(t, k.client().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: batch}))
	list, err := k.client().List(t.Context(), metav1.ListOptions{LabelSelector: batch})
	require.NoError(t, err)
	assert.Empty(t, list.Items)
	assert.False(t, k.gone(t, other))
}

// checkFinalizers deletes an object with a finalizer.
func checkFinalizers(t *testing.T, k *kind) {
	object := k.object("held")
	object.SetFinalizers([]string{"example.com/hold"})
	created, err := k.client().Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Contains(t, created.GetFinalizers(), "example.com/hold")
	require.NoError(t, k.client().Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}))
	held := k.get(t, "held")
	assert.NotNil(t, held.GetDeletionTimestamp())
	assert.Equal(t, created.GetFinalizers(), held.GetFinalizers())

	body := []byte(`{"metadata":{"finalizers":["example.com/hold","example.com/late"]}}`)
	_, err = k.client().Patch(t.Context(), object.GetName(), types.MergePatchType, body, metav1.PatchOptions{})
	assert.True(t, apierrors.IsInvalid(err), "who is late cannot hold it: %v", err)
	_, err = k.client().Patch(t.Context(), object.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	assert.True(t, k.gone(t, held))
}
