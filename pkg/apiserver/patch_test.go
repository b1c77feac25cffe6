package apiserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// mapsOfObjects are fields that strategic merge patches cannot change, because apimachinery does not merge maps of objects.
// kubectl apply does not use them for NodeImages: see hideStrategicMerge.
var mapsOfObjects = []string{"spec.images", "status.imageStatuses", "status.podStates", "status.versionedSubsetStatuses"}

// TestEveryFieldCanBePatched applies a strategic merge patch, which is what "kubectl patch" sends, to an object that has every field. The
// patch sets each field to its stored value. It fails for a list that is merged without a key, and for raw JSON that is merged by field.
func TestEveryFieldCanBePatched(t *testing.T) {
	w := newWorld(t)
	for _, kind := range w.kinds {
		for _, version := range kind.ServedVersions() {
			t.Run(kind.hub.Kind+" in "+version.Version, func(t *testing.T) {
				object := w.sent(t, version.WithKind(kind.hub.Kind))
				content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
				require.NoError(t, err)
				for _, field := range mapsOfObjects {
					unstructured.RemoveNestedField(content, strings.Split(field, ".")...)
				}
				text, err := json.Marshal(content)
				require.NoError(t, err)
				_, err = strategicpatch.StrategicMergePatch(text, text, object)
				require.NoError(t, err)
			})
		}
	}
}
