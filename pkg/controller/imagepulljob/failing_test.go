package imagepulljob

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// failWrites makes each change of NodeImage n1 fail with what fail returns, unless it is nil.
func (w *world) failWrites(fail func(*v1beta1.NodeImage) error) {
	w.failWritesOf(func(node string) bool { return node == "n1" }, fail)
}

func (w *world) failWritesOf(nodes func(string) bool, fail func(*v1beta1.NodeImage) error) {
	w.Kruise.PrependReactor("update", "nodeimages", func(action clienttesting.Action) (bool, runtime.Object, error) {
		image := action.(clienttesting.UpdateAction).GetObject().(*v1beta1.NodeImage)
		if !nodes(image.Name) || action.GetSubresource() != "" {
			return false, nil, nil
		}
		err := fail(image)
		return err != nil, nil, err
	})
}

// pull reconciles the job several times, while the nodes pull what they are asked for.
func (w *world) pull(name string, parallelism int) (err error) {
	w.t.Helper()
	for range 10 {
		w.Observe()
		_, err = w.Pass("ns", name)
		asked := w.unfinished()
		require.LessOrEqual(w.t, len(asked), parallelism)
		for _, node := range asked {
			w.answer(node, v1beta1.ImagePhaseSucceeded)
		}
	}
	return err
}

// TestFailingNodeDoesNotDelayOthers checks that the job goes on with the other nodes, whatever makes one node fail.
func TestFailingNodeDoesNotDelayOthers(t *testing.T) {
	resource := schema.GroupResource{Group: "apps.kruise.io", Resource: "nodeimages"}
	tests := map[string]struct {
		err error
		// refuses is true if the node counts as failed after a while.
		refuses bool
	}{
		"a webhook denies it with 403": {apierrors.NewForbidden(resource, "n1", errors.New("denied")), true},
		"a webhook denies it with 400": {apierrors.NewBadRequest("denied"), true},
		"an error of the server":       {apierrors.NewInternalError(errors.New("broken")), false},
	}
	for name, tc := range tests {
		for _, parallelism := range []int{1, 2} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, append(nodeImages(5), newJob("a", limit(strconv.Itoa(parallelism))))...)
				fails := true
				w.failWrites(func(*v1beta1.NodeImage) error {
					if fails {
						return tc.err
					}
					return nil
				})
				require.Error(t, w.pull("a", parallelism), "it is tried again")
				status := w.job("a").Status
				assert.Equal(t, []int32{5, 4, 0, 0}, []int32{status.Desired, status.Succeeded, status.Active, status.Failed})
				assert.Nil(t, status.CompletionTime, "the server may allow it a moment later")

				w.pass(refusalPatience)
				w.Observe()
				_, err := w.Pass("ns", "a")
				assert.Equal(t, tc.refuses, err == nil)
				status = w.job("a").Status
				assert.Equal(t, tc.refuses, status.CompletionTime != nil)
				if tc.refuses {
					assert.Equal(t, []string{"n1"}, status.FailedNodes)
					events := w.Events()
					assert.Contains(t, strings.Join(events, "\n"), "NodeImage n1 was rejected: update NodeImage n1: "+tc.err.Error()+
						"; allow the change, or leave the node out of the job")
					return
				}
				fails = false
				require.NoError(t, w.pull("a", parallelism))
				assert.EqualValues(t, 5, w.job("a").Status.Succeeded)
			})
		}
	}
}

// TestManyFailingNodesDelayNobody has all nodes but the last one fail. The last one is asked in the first pass.
func TestManyFailingNodesDelayNobody(t *testing.T) {
	w := newWorld(t, append(nodeImages(9), newJob("a", limit("1")))...)
	w.failWritesOf(func(node string) bool { return node != "n9" }, func(*v1beta1.NodeImage) error {
		return apierrors.NewInternalError(errors.New("broken"))
	})
	w.Observe()
	_, err := w.Pass("ns", "a")
	require.ErrorContains(t, err, "broken", "they are tried again")
	assert.Equal(t, []string{"n9"}, w.unfinished())

	require.Len(t, w.r.failing.last("uid-a"), 8)
	for _, gone := range []string{"n1", "n2"} {
		require.NoError(t, w.Kruise.AppsV1beta1().NodeImages().Delete(t.Context(), gone, metav1.DeleteOptions{}))
	}
	w.answer("n9", v1beta1.ImagePhaseSucceeded)
	w.Observe()
	_, err = w.Pass("ns", "a")
	require.Error(t, err)
	assert.Len(t, w.r.failing.last("uid-a"), 6, "nothing is kept for deleted NodeImages")
}

// TestOneRejectionIsNotFinal has a write rejected once, a while after it failed otherwise. Another rejection a minute later is final.
func TestOneRejectionIsNotFinal(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a"))...)
	failure := error(apierrors.NewInternalError(errors.New("broken")))
	w.failWrites(func(*v1beta1.NodeImage) error { return failure })
	pass := func() error {
		w.Observe()
		_, err := w.Pass("ns", "a")
		return err
	}
	require.Error(t, pass())
	w.pass(2 * refusalPatience)
	failure = apierrors.NewForbidden(schema.GroupResource{Resource: "nodeimages"}, "n1", errors.New("the server has just started"))
	require.Error(t, pass())
	assert.Empty(t, w.job("a").Status.FailedNodes)
	w.pass(refusalPatience)
	require.NoError(t, pass())
	assert.Equal(t, []string{"n1"}, w.job("a").Status.FailedNodes)
}

// TestNodeCountsIfItsWriteMayHaveTakenPlace checks that the job asks no other node as long as it does not know whether one was asked.
func TestNodeCountsIfItsWriteMayHaveTakenPlace(t *testing.T) {
	w := newWorld(t, append(nodeImages(5), newJob("a"))...)
	failure := errors.New("connection lost")
	w.failWrites(func(*v1beta1.NodeImage) error { return failure })
	for range 3 {
		w.Observe()
		_, err := w.Pass("ns", "a")
		require.ErrorIs(t, err, failure)
		assert.Empty(t, w.unfinished(), "the write may still come")
		assert.EqualValues(t, 1, w.job("a").Status.Active)
	}

	failure = apierrors.NewInternalError(errors.New("broken"))
	unreadable := true
	w.Kruise.PrependReactor("get", "nodeimages", func(clienttesting.Action) (bool, runtime.Object, error) {
		return unreadable, nil, failure
	})
	for range 3 {
		w.Observe()
		_, err := w.Pass("ns", "a")
		require.ErrorIs(t, err, failure)
		assert.Empty(t, w.unfinished(), "nobody knows what is stored")
	}

	unreadable = false
	w.pass(time.Second)
	w.failWrites(func(image *v1beta1.NodeImage) error {
		require.NoError(t, w.Kruise.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("nodeimages"), image.DeepCopy(), ""))
		return failure
	})
	w.step("a")
	assert.Equal(t, []string{"n1"}, w.unfinished(), "the write took place, and its answer was lost")
	assert.EqualValues(t, 1, w.job("a").Status.Active)
	require.NoError(t, w.pull("a", 1))
	assert.EqualValues(t, 5, w.job("a").Status.Succeeded)
}
