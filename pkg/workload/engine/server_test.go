package engine

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// An API server without the subresource resize takes resources with the rest of the Pod. After its upgrade, it takes them only at the
// subresource.
func TestResourcesAreWrittenWhereTheServerTakesThem(t *testing.T) {
	text := apierrors.NewGenericServerResponse(http.StatusNotFound, "patch", schema.GroupResource{Resource: "pods"}, "web-0", "", 0, true)
	// This is what kube-apiserver 1.30 answers.
	nameless := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Details: &metav1.StatusDetails{},
		Message: "the server could not find the requested resource",
	}}
	for _, noResize := range []*apierrors.StatusError{text, nameless} {
		resourcesAreWritten(t, noResize)
	}
}

// A Pod that is gone says nothing about the subresource.
func TestMissingPodIsNoMissingPath(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		assert.Equal(t, "resize", action.GetSubresource())
		return true, nil, apierrors.NewNotFound(corev1.Resource("pods"), "web-0")
	})
	before := servingPod("web-0")
	_, err := NewServer(client).PatchPod(t.Context(), &Change{Before: before, After: before.DeepCopy(), Part: Resize}, false)
	assert.True(t, apierrors.IsNotFound(err))
}

func resourcesAreWritten(t *testing.T, noResize error) {
	t.Helper()
	var paths []string
	upgraded := false
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		paths = append(paths, action.GetSubresource())
		switch resize := action.GetSubresource() == "resize"; {
		case resize == upgraded:
			return true, &corev1.Pod{}, nil
		case resize:
			return true, nil, noResize
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
