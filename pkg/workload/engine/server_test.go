package engine

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// An API server without the subresource resize takes resources with the rest of the Pod. After its upgrade, it takes them only at the
// subresource.
func TestResourcesAreWrittenWhereTheServerTakesThem(t *testing.T) {
	var paths []string
	upgraded := false
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		paths = append(paths, action.GetSubresource())
		switch resize := action.GetSubresource() == "resize"; {
		case resize == upgraded:
			return true, &corev1.Pod{}, nil
		case resize:
			return true, nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "patch", schema.GroupResource{Resource: "pods"},
				"web-0", "", 0, true)
		default:
			return true, nil, errors.New("spec: Forbidden: pod updates may not change fields")
		}
	})
	s := NewServer(client)
	before := servingPod("web-0")
	change := &Change{Before: before, After: before.DeepCopy(), Part: Resize}
	write := func() error { _, err := s.PatchPod(t.Context(), change, false); return err }

	require.NoError(t, write())
	require.NoError(t, write())
	upgraded = true
	require.Error(t, write())
	require.NoError(t, write())
	assert.Equal(t, []string{"resize", "", "", "", "resize"}, paths)
}
