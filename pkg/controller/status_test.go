package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/controller"
)

// pods is a server with one Pod.
type pods struct {
	stored *corev1.Pod
	// conflicts is how many further writes conflict with another writer, who changes the Pod each time.
	conflicts      int
	other          func(*corev1.Pod)
	writes, gets   int
	deleted        *metav1.DeleteOptions
	deletion, fail error
}

func (p *pods) Get(context.Context, string, metav1.GetOptions) (*corev1.Pod, error) {
	p.gets++
	if p.stored == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, "a")
	}
	return p.stored.DeepCopy(), nil
}

func (p *pods) UpdateStatus(_ context.Context, pod *corev1.Pod, _ metav1.UpdateOptions) (*corev1.Pod, error) {
	p.writes++
	switch {
	case p.fail != nil:
		return nil, p.fail
	case p.stored == nil:
		return nil, apierrors.NewNotFound(schema.GroupResource{}, "a")
	case p.conflicts > 0:
		p.conflicts--
		p.other(p.stored)
		return nil, apierrors.NewConflict(schema.GroupResource{}, "a", nil)
	}
	p.stored = pod.DeepCopy()
	return pod, nil
}

func (p *pods) Delete(_ context.Context, _ string, options metav1.DeleteOptions) error {
	p.deleted = &options
	return p.deletion
}

func newPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1"}}
}

func message(text string) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		pod.Status.Message = text
		return nil
	}
}

func TestStatusIsWrittenWhenItDiffers(t *testing.T) {
	cached := newPod()
	server := &pods{stored: newPod()}
	stored, err := controller.UpdateStatus(t.Context(), server, cached, message("new"))
	require.NoError(t, err)
	assert.Equal(t, "new", stored.Status.Message)
	assert.Empty(t, cached.Status.Message, "what belongs to the cache is not changed")
	same, err := controller.UpdateStatus(t.Context(), server, stored, message("new"))
	require.NoError(t, err)
	assert.Same(t, stored, same)
	assert.Equal(t, 1, server.writes)
}

func TestEquivalentStatusesAreEqual(t *testing.T) {
	pod := newPod()
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{AllocatedResources: corev1.ResourceList{"cpu": resource.MustParse("1")}}}
	server := &pods{stored: pod}
	_, err := controller.UpdateStatus(t.Context(), server, pod, func(fresh *corev1.Pod) error {
		fresh.Status.ContainerStatuses[0].AllocatedResources["cpu"] = resource.MustParse("1000m")
		fresh.Status.Conditions = []corev1.PodCondition{}
		return nil
	})
	require.NoError(t, err)
	assert.Zero(t, server.writes)
}

func TestConflictIsRetriedOnTheStoredObject(t *testing.T) {
	server := &pods{stored: newPod(), conflicts: 3, other: func(pod *corev1.Pod) { pod.Status.Reason += "x" }}
	stored, err := controller.UpdateStatus(t.Context(), server, newPod(), func(fresh *corev1.Pod) error {
		fresh.Status.Message = "saw " + fresh.Status.Reason
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, "xxx", stored.Status.Reason)
	assert.Equal(t, "saw xxx", stored.Status.Message)

	server = &pods{stored: newPod(), conflicts: 1000, other: func(*corev1.Pod) {}}
	_, err = controller.UpdateStatus(t.Context(), server, newPod(), message("new"))
	assert.True(t, apierrors.IsConflict(err), "it is a matter of the queue then: %v", err)
}

func TestUpdateStatusWithoutAWrite(t *testing.T) {
	failed := errors.New("failed")
	for name, tc := range map[string]struct {
		server *pods
		edit   func(*corev1.Pod) error
		err    error
	}{
		"gone":                       {&pods{}, message("new"), nil},
		"gone after a lost race":     {&pods{stored: newPod(), conflicts: 1, other: func(pod *corev1.Pod) { pod.UID = "2" }}, message("new"), nil},
		"refused":                    {&pods{stored: newPod(), fail: failed}, message("new"), failed},
		"there is nothing to decide": {&pods{stored: newPod()}, func(*corev1.Pod) error { return failed }, failed},
	} {
		t.Run(name, func(t *testing.T) {
			stored, err := controller.UpdateStatus(t.Context(), tc.server, newPod(), tc.edit)
			assert.ErrorIs(t, err, tc.err)
			assert.Nil(t, stored)
		})
	}
}

func TestDeletionAfterTheTTL(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	finished := new(metav1.NewTime(now.Add(-time.Minute)))
	for name, tc := range map[string]struct {
		finished *metav1.Time
		seconds  *int32
		want     time.Duration
		deleted  bool
	}{
		"not yet":            {finished, new(int32(90)), 30 * time.Second, false},
		"at that moment":     {finished, new(int32(60)), 0, true},
		"at once":            {finished, new(int32(0)), 0, true},
		"without a TTL":      {finished, nil, 0, false},
		"it is not finished": {nil, new(int32(1)), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := &pods{}
			result, err := controller.DeleteExpired(t.Context(), server, newPod(), tc.finished, tc.seconds, now)
			require.NoError(t, err)
			assert.Equal(t, tc.want, result.RequeueAfter)
			require.Equal(t, tc.deleted, server.deleted != nil)
			if tc.deleted {
				assert.EqualValues(t, "1", *server.deleted.Preconditions.UID, "not another one of its name")
			}
		})
	}
	for name, tc := range map[string]struct {
		answer error
		failed bool
	}{
		"gone already":             {apierrors.NewNotFound(schema.GroupResource{}, "a"), false},
		"another one has its name": {apierrors.NewConflict(schema.GroupResource{}, "a", nil), false},
		"refused":                  {apierrors.NewForbidden(schema.GroupResource{}, "a", nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := controller.DeleteExpired(t.Context(), &pods{deletion: tc.answer}, newPod(), finished, new(int32(0)), now)
			assert.Equal(t, tc.failed, err != nil)
		})
	}
}
