//go:build integration

package integration

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
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

// TestLargestObjectsAreAnsweredInProportion writes objects near the limit and of a tenth of it. A request whose time grows with the square
// of its size would occupy a core for minutes.
// Not parallel: it compares times. A busy machine can disturb one round, so the quickest of three counts.
func TestLargestObjectsAreAnsweredInProportion(t *testing.T) {
	client := cloneSets(t)
	const number, most = 8_000, 40 // The managed fields are larger than the annotations.
	annotated := func(name string, number int, suffix string) *v1beta1.CloneSet {
		set := newCloneSet(name)
		set.Spec.Replicas, set.Spec.Template.Annotations = new(int32), map[string]string{}
		for i := range number {
			set.Spec.Template.Annotations[fmt.Sprintf("example.com/%d%s", i, suffix)] = "a value"
		}
		return set
	}
	steps := map[string]func(name string, number int) error{
		"1 create": func(name string, number int) error {
			_, err := client.Create(t.Context(), annotated(name, number, ""), metav1.CreateOptions{})
			return err
		},
		"2 update, each wrong": func(name string, number int) error {
			_, err := client.Update(t.Context(), annotated(name, number, "="), metav1.UpdateOptions{})
			if !apierrors.IsInvalid(err) {
				return fmt.Errorf("not refused: %w", err)
			}
			return nil
		},
		"3 update": func(name string, number int) error {
			_, err := client.Update(t.Context(), annotated(name, number, "_a"), metav1.UpdateOptions{})
			return err
		},
		"4 patch": func(name string, _ int) error {
			_, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{})
			return err
		},
	}
	quickest := map[string]time.Duration{}
	for round := range 3 {
		for _, step := range slices.Sorted(maps.Keys(steps)) {
			for _, size := range []int{number / 10, number} {
				began := time.Now()
				require.NoError(t, steps[step](fmt.Sprintf("demo-%d-%d", round, size), size), step)
				key := fmt.Sprintf("%s of %d", step, size)
				quickest[key] = min(cmp.Or(quickest[key], time.Hour), time.Since(began))
			}
		}
	}
	for step := range steps {
		short, long := quickest[fmt.Sprintf("%s of %d", step, number/10)], quickest[fmt.Sprintf("%s of %d", step, number)]
		t.Logf("%s: %s for a tenth, %s for the whole", step, short.Round(time.Millisecond), long.Round(time.Millisecond))
		assert.Less(t, long, max(time.Second, most*short), step)
	}
}
