package imagelistpulljob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// TestChildrenGoWithTheirList checks that the children of a deleted list job are deleted, but no child that the user released, and
// none of another list job.
func TestChildrenGoWithTheirList(t *testing.T) {
	w := newWorld(t)
	w.settle()
	children := w.children()
	children["c"].OwnerReferences = nil
	w.Update(children["c"])
	other := children["a"].DeepCopy()
	other.Name, other.UID, other.Spec.Image = "other-1", "other", "z"
	other.OwnerReferences[0].Name, other.OwnerReferences[0].UID = "other", "other"
	w.Add(other)
	require.NoError(t, w.Kruise.AppsV1beta1().ImageListPullJobs("ns").Delete(t.Context(), "list", metav1.DeleteOptions{}))
	w.Kruise.ClearActions()
	w.Observe()
	_, err := w.Pass("ns", "list")
	require.NoError(t, err)
	gone := map[types.UID]string{}
	for _, action := range w.Kruise.Actions() {
		if deletion, ok := action.(clienttesting.DeleteActionImpl); ok {
			preconditions := deletion.GetDeleteOptions().Preconditions
			gone[*preconditions.UID] = deletion.GetName()
			assert.NotNil(t, preconditions.ResourceVersion, "a child that is released at the same time stays")
		}
	}
	assert.Equal(t, map[types.UID]string{children["a"].UID: children["a"].Name, children["b"].UID: children["b"].Name}, gone)
	w.Kruise.ClearActions()
	assert.Empty(t, w.settle(), "nothing is left to do")
}

// TestChildrenStayWhileTheirListMayExist checks that no child is deleted because of a late cache, or of a server without an answer.
func TestChildrenStayWhileTheirListMayExist(t *testing.T) {
	w := newWorld(t)
	w.settle()
	key := types.NamespacedName{Namespace: "ns", Name: "list"}
	_, err := w.r.absent(t.Context(), key)
	require.NoError(t, err)
	assert.Empty(t, w.Writes(), "the server has the list job")

	w.Kruise.PrependReactor("get", "imagelistpulljobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("no store")
	})
	_, err = w.r.absent(t.Context(), key)
	require.ErrorContains(t, err, "no store")
	assert.Empty(t, w.Writes())
}
