//go:build integration

package integration

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// isFull reports whether a write was refused because the store is full. The error must contain the remedy.
func isFull(t *testing.T, err error) bool {
	t.Helper()
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		require.NoError(t, err)
		return false
	}
	if timedOut(err) {
		return false
	}
	require.EqualValues(t, http.StatusInsufficientStorage, status.Status().Code, "%v", err)
	require.ErrorContains(t, err, "the store is full")
	require.ErrorContains(t, err, "delete objects that you do not need")
	return true
}

// timedOut reports whether etcd ended a write before the disk of a busy machine had answered. Such a write may be stored or not.
func timedOut(err error) bool {
	return err != nil && strings.Contains(err.Error(), rpctypes.ErrTimeout.Error())
}

// TestFullEmbeddedStoreRefusesCreationsAndRecovers fills the store. The server stays ready, because otherwise nobody could delete
// objects.
func TestFullEmbeddedStoreRefusesCreationsAndRecovers(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	s := alone(t, "full", "--data-quota-bytes=33554432")
	client := s.client(t, namespace)
	write := func(name string) error {
		cloneSet := newCloneSet(name)
		cloneSet.Annotations = map[string]string{"large": strings.Repeat("x", 200<<10)}
		_, err := client.Create(t.Context(), cloneSet, metav1.CreateOptions{})
		return err
	}
	written := 0
	for !isFull(t, write(fmt.Sprintf("demo-%d", written))) {
		written++
		require.Less(t, written, 300, "60 MB fit into 32 MiB")
	}
	_, err := client.Get(t.Context(), "demo-0", metav1.GetOptions{})
	require.NoError(t, err)
	// One check of etcd can take longer than its time on a busy machine.
	eventually(t, func() bool {
		_, err := s.get(t.Context(), "/readyz")
		return err == nil
	})
	for i := range written / 2 {
		err := client.Delete(t.Context(), fmt.Sprintf("demo-%d", i), metav1.DeleteOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err) || timedOut(err), "%v", err)
	}
	eventually(t, func() bool {
		err := write("again")
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

// TestManyRevisionsDoNotFillTheEmbeddedStore writes one object until its revisions would fill the store several times.
func TestManyRevisionsDoNotFillTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	s := alone(t, "revisions", "--data-quota-bytes=33554432")
	client := s.client(t, newNamespace(t))
	_, err := client.Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{})
	require.NoError(t, err)
	refused := 0
	for i := range 600 {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"large":%q}}}`, strings.Repeat(fmt.Sprint(i%10), 200<<10))
		_, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if isFull(t, err) {
			refused++
		}
	}
	t.Logf("%d of 600 writes of 200 KiB were refused for a moment", refused)
	eventually(t, func() bool {
		_, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(`{"metadata":{"annotations":{"large":null}}}`), metav1.PatchOptions{})
		return err == nil
	})
	assert.Less(t, refused, 300)
}

// TestGrowingObjectsDoNotFillTheStore fills the store with small objects that become larger, and with server-side apply. What is left must
// be enough for the statuses, finalizers and deletions of everybody else.
func TestGrowingObjectsDoNotFillTheStore(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	s := alone(t, "growth", "--data-quota-bytes=33554432")
	client := s.client(t, namespace)
	const count = 200
	for i := range count {
		_, err := client.Create(t.Context(), newCloneSet(fmt.Sprintf("demo-%d", i)), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	large := strings.Repeat("x", 200<<10)
	grow := func(i int) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"large":%q}}}`, large)
		_, err := client.Patch(t.Context(), fmt.Sprintf("demo-%d", i), types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	grown := 0
	for !isFull(t, grow(grown)) {
		grown++
		require.Less(t, grown, count, "40 MB fit into 32 MiB")
	}
	small := fmt.Sprintf("demo-%d", count-1)
	// Old revisions that are dropped leave room for some objects.
	apply := func(name string) error {
		text := fmt.Appendf(nil, `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":%q,"annotations":{"large":%q}},
			"spec":{"selector":{"matchLabels":{"app":"new"}},"template":{"metadata":{"labels":{"app":"new"}},
			"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, name, large)
		_, err := client.Patch(t.Context(), name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "test"})
		return err
	}
	applied := 0
	for !isFull(t, apply(fmt.Sprintf("new-%d", applied))) {
		applied++
		require.Less(t, grown+applied, count, "a server-side apply creates objects")
	}

	for subresource, patch := range map[string]string{
		"":       `{"metadata":{"finalizers":["example.com/test"]}}`,
		"status": `{"status":{"labelSelector":"` + strings.Repeat("x", 1000) + `"}}`,
		"scale":  `{"spec":{"replicas":1000}}`,
	} {
		// A typed client cannot read the answer of /scale.
		err := s.clientset(t).AppsV1beta1().RESTClient().Patch(types.MergePatchType).Namespace(namespace).Resource("clonesets").
			Name(small).SubResource(subresource).Body([]byte(patch)).Do(t.Context()).Error()
		require.NoError(t, err, "/%s", subresource)
	}
	require.NoError(t, client.Delete(t.Context(), small, metav1.DeleteOptions{}))
	_, err := client.Patch(t.Context(), small, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	for i := range grown / 2 {
		err := client.Delete(t.Context(), fmt.Sprintf("demo-%d", i), metav1.DeleteOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err) || timedOut(err), "%v", err)
	}
	eventually(t, func() bool { return grow(grown) == nil })
}
