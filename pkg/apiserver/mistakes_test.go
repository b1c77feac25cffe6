package apiserver

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// stored reads an object of the kind from a file. Every field is set, and most values are invalid.
func (w *world) stored(t testing.TB, kind schema.GroupVersionKind) runtime.Object {
	t.Helper()
	group, _, _ := strings.Cut(kind.Group, ".")
	data, err := os.ReadFile(fmt.Sprintf("../apis/%s/install/testdata/HEAD/%s.%s.%s.pb", group, kind.Group, kind.Version, kind.Kind))
	require.NoError(t, err)
	object, err := runtime.Decode(w.codecs.UniversalDecoder(), data)
	require.NoError(t, err)
	accessor, err := meta.Accessor(object)
	require.NoError(t, err)
	accessor.SetManagedFields(nil)
	return object
}

// TestObjectFullOfMistakesCanBeUpdated updates an object in which every field is set and most values are invalid.
// Invalid values that the update does not change must not block it.
func TestObjectFullOfMistakesCanBeUpdated(t *testing.T) {
	w := newWorld(t)
	for _, kind := range w.kinds {
		for _, version := range kind.ServedVersions() {
			t.Run(kind.hub.Kind+" in "+version.Version, func(t *testing.T) {
				stored := w.stored(t, version.WithKind(kind.hub.Kind))
				ctx, strategy, status := kind.request(t, version), kind.main, kind.status
				require.NotEmpty(t, strategy.Validate(ctx, stored.DeepCopyObject()), "it has mistakes")

				updated := stored.DeepCopyObject()
				accessor, err := meta.Accessor(updated)
				require.NoError(t, err)
				accessor.SetLabels(map[string]string{"changed": "label"})
				strategy.PrepareForUpdate(ctx, updated, stored)
				assert.Empty(t, strategy.ValidateUpdate(ctx, updated, stored))

				status.PrepareForUpdate(ctx, updated, stored)
				assert.Empty(t, status.ValidateUpdate(ctx, updated, stored), "/status")
			})
		}
	}
}

// TestMetadataIsJudged checks that invalid metadata is refused when an object is created or replaced and when its status is updated.
func TestMetadataIsJudged(t *testing.T) {
	w := newWorld(t)
	for _, kind := range w.kinds {
		t.Run(kind.hub.Kind, func(t *testing.T) {
			version := kind.StoredVersion()
			stored := w.stored(t, version.WithKind(kind.hub.Kind))
			ctx, strategy, status := kind.request(t, version), kind.main, kind.status
			change := func(with func(metav1.Object)) runtime.Object {
				changed := stored.DeepCopyObject()
				accessor, err := meta.Accessor(changed)
				require.NoError(t, err)
				with(accessor)
				return changed
			}
			label := func(object metav1.Object) { object.SetLabels(map[string]string{"not a label": ""}) }
			assert.Contains(t, fields(strategy.Validate(ctx, change(label))), "metadata.labels")
			uid := func(object metav1.Object) { object.SetUID("another") }
			assert.Contains(t, fields(strategy.ValidateUpdate(ctx, change(uid), stored)), "metadata.uid")
			assert.Contains(t, fields(status.ValidateUpdate(ctx, change(uid), stored)), "metadata.uid", "/status")
		})
	}
}

func fields(errs field.ErrorList) []string {
	names := make([]string, len(errs))
	for i, err := range errs {
		names[i] = err.Field
	}
	return names
}
