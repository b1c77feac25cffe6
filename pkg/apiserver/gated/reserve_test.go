package gated

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// onePod is a storage with one Pod, or none.
type onePod struct {
	storage.Interface
	stored *corev1.Pod
}

func (s *onePod) Create(_ context.Context, _ string, obj, _ runtime.Object, _ uint64) error {
	s.stored = obj.(*corev1.Pod)
	return nil
}

func (s *onePod) GuaranteedUpdate(
	_ context.Context, _ string, _ runtime.Object, _ bool, _ *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object,
) error {
	input := &corev1.Pod{}
	if s.stored != nil {
		s.stored.DeepCopyInto(input)
	}
	output, _, err := update(input, storage.ResponseMeta{})
	if err == nil {
		s.stored = output.(*corev1.Pod)
	}
	return err
}

func update(change func(*corev1.Pod)) storage.UpdateFunc {
	return func(input runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		change(input.(*corev1.Pod)) // The stored object may be changed in place.
		return input, nil, nil
	}
}

func storedPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "a", ResourceVersion: "7", Finalizers: []string{"a/b"}, Annotations: map[string]string{"text": strings.Repeat("x", 1000)},
	}}
}

func newReserve(full bool, stored *corev1.Pod) (*reserve, *onePod) {
	below := &onePod{stored: stored}
	kept := &reserve{Interface: below, gate: &gate{}, codec: clientscheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion)}
	if full {
		kept.gate = &gate{room: &apierrors.StatusError{ErrStatus: metav1.Status{Code: 507, Message: "the store is full"}}}
	}
	return kept, below
}

// What a full store accepts must not need more space, in whatever way it is written. Otherwise one user takes the space that the others
// need to delete something.
func TestFullStoreKeepsItsReserve(t *testing.T) {
	manager := func(length int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: strings.Repeat("m", length), Operation: metav1.ManagedFieldsOperationUpdate}
	}
	for name, test := range map[string]struct {
		change  func(*corev1.Pod)
		refused bool
	}{
		"nothing":             {change: func(*corev1.Pod) {}},
		"smaller":             {change: func(p *corev1.Pod) { p.Annotations = nil }},
		"other text":          {change: func(p *corev1.Pod) { p.Annotations["text"] = strings.Repeat("y", 1000) }},
		"larger":              {func(p *corev1.Pod) { p.Annotations["text"] += strings.Repeat("x", 200) }, true},
		"larger spec":         {func(p *corev1.Pod) { p.Spec.NodeName = strings.Repeat("x", 200) }, true},
		"a little":            {change: func(p *corev1.Pod) { p.Spec.Priority = new(int32) }},
		"larger status":       {change: func(p *corev1.Pod) { p.Status.Message = strings.Repeat("x", 5000) }},
		"status, then spec":   {func(p *corev1.Pod) { p.Status.Message, p.Spec.NodeName = "", strings.Repeat("x", 200) }, true},
		"finalizer":           {change: func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, "c/d") }},
		"finalizer is gone":   {change: func(p *corev1.Pod) { p.Finalizers, p.ManagedFields = nil, []metav1.ManagedFieldsEntry{manager(300)} }},
		"deletion":            {change: func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{}, new(int64) }},
		"terminating, larger": {func(p *corev1.Pod) { p.DeletionTimestamp, p.Spec.NodeName = &metav1.Time{}, strings.Repeat("x", 200) }, true},
		"many finalizers":     {func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, strings.Repeat("x", 20<<10)) }, true},
		"many managers":       {func(p *corev1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{manager(20 << 10)} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			kept, below := newReserve(true, storedPod())
			err := kept.GuaranteedUpdate(t.Context(), "", nil, false, nil, update(test.change), nil)
			if test.refused {
				require.ErrorContains(t, err, "the store is full; this update makes the object larger, from ")
				assert.EqualValues(t, 507, err.(apierrors.APIStatus).Status().Code)
				assert.Equal(t, storedPod(), below.stored)
			} else {
				require.NoError(t, err)
			}
			kept, _ = newReserve(false, storedPod())
			require.NoError(t, kept.GuaranteedUpdate(t.Context(), "", nil, false, nil, update(test.change), nil), "a store with room accepts it")
		})
	}
}

// A server-side apply creates an object by an update.
func TestFullStoreAcceptsNoNewObject(t *testing.T) {
	kept, below := newReserve(true, nil)
	create := update(func(p *corev1.Pod) { p.Name = "a" })
	require.EqualError(t, kept.GuaranteedUpdate(t.Context(), "", nil, true, nil, create, nil), "the store is full")
	require.EqualError(t, kept.Create(t.Context(), "", storedPod(), nil, 0), "the store is full")
	assert.Nil(t, below.stored)
	kept, below = newReserve(false, nil)
	require.NoError(t, kept.GuaranteedUpdate(t.Context(), "", nil, true, nil, create, nil))
	assert.NotNil(t, below.stored)
}

// Many small updates must not add up.
func TestObjectInAFullStoreStaysNearItsSize(t *testing.T) {
	kept, below := newReserve(true, storedPod())
	before := len(below.stored.Annotations["text"])
	for i := range 10_000 {
		_ = kept.GuaranteedUpdate(t.Context(), "", nil, false, nil, update(func(p *corev1.Pod) {
			p.Annotations["text"] += fmt.Sprint(i % 10)
		}), nil)
	}
	assert.Less(t, len(below.stored.Annotations["text"]), before+before/8)
}
