//go:build integration

package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// An object that was stored under a higher limit can be made smaller, and deleted.
func TestLimitIsLowered(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	s := alone(t, "lowered")
	for _, name := range []string{"plain", "held", "foreground", "shrinking"} {
		cloneSet := newCloneSet(name)
		cloneSet.Annotations = map[string]string{"large": strings.Repeat("x", 200<<10)}
		if name == "held" {
			cloneSet.Finalizers = []string{"example.com/hold"}
		}
		create(t, s.client(t, namespace), cloneSet)
	}
	s.stop()
	s.args = append(s.args, "--max-object-bytes=65536")
	require.NoError(t, s.start(t.Context()))
	client := s.client(t, namespace)
	patch := func(name, body string) error {
		_, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	gone := func(name string) {
		_, err := client.Get(t.Context(), name, metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%s: %v", name, err)
	}

	require.NoError(t, client.Delete(t.Context(), "plain", metav1.DeleteOptions{}))
	gone("plain")

	require.NoError(t, client.Delete(t.Context(), "held", metav1.DeleteOptions{}))
	require.NoError(t, patch("held", `{"metadata":{"finalizers":null}}`))
	gone("held")

	foreground := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	require.NoError(t, client.Delete(t.Context(), "foreground", foreground))
	require.NoError(t, patch("foreground", `{"metadata":{"finalizers":null}}`))
	gone("foreground")

	err := patch("shrinking", `{"metadata":{"annotations":{"more":"`+strings.Repeat("x", 1000)+`"}}}`)
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
	require.NoError(t, patch("shrinking", `{"metadata":{"annotations":{"large":"`+strings.Repeat("x", 100<<10)+`"}}}`), "still above the limit")
	require.NoError(t, patch("shrinking", `{"metadata":{"annotations":{"large":null}}}`))
}
