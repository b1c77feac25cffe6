package rest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// contested stores one sample for several servers, as the generic store does: a write fails if the object changed after it was read, and
// is then decided again.
type contested struct {
	genericrest.Storage
	t       *testing.T
	lock    sync.Mutex
	stored  *sample
	version int
	writes  int
}

func (c *contested) read() (*sample, int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.stored, c.version
}

func (c *contested) swap(changed *sample, over int) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.version != over {
		return false
	}
	c.stored, c.version, c.writes = changed, over+1, c.writes+1
	return true
}

func (c *contested) Update(
	ctx context.Context, name string, change genericrest.UpdatedObjectInfo, _ genericrest.ValidateObjectFunc,
	_ genericrest.ValidateObjectUpdateFunc, _ bool, _ *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	info, _ := genericapirequest.RequestInfoFrom(ctx)
	assert.Equal(c.t, "g/v2 samples/status ns demo", fmt.Sprintf("%s/%s %s/%s %s %s",
		info.APIGroup, info.APIVersion, info.Resource, info.Subresource, genericapirequest.NamespaceValue(ctx), name))
	warning.AddWarning(ctx, "", "for nobody")
	for {
		stored, version := c.read()
		before := stored.DeepCopy()
		changed, err := change.UpdatedObject(ctx, stored)
		assert.Equal(c.t, before, stored, "the stored object is not changed")
		if err != nil {
			return nil, false, err
		}
		<-time.After(10 * time.Millisecond)
		if c.swap(changed.(*sample), version) {
			return changed, false, nil
		}
	}
}

// served is a version of a sample that shares its labels.
type served = appsv1.ReplicaSet

func newStatuses(storage genericrest.Storage) *Statuses[sample, served] {
	s := NewStatuses(schema.GroupVersionResource{Group: "g", Version: "v2", Resource: "samples"},
		func(from *sample, to *served, _ conversion.Scope) error {
			to.ObjectMeta, to.Status.Replicas = from.ObjectMeta, from.Status.Replicas
			return nil
		},
		func(from *served, to *sample) error {
			to.Status.Replicas = from.Status.Replicas
			return nil
		})
	if storage != nil {
		s.Open(map[string]genericrest.Storage{"samples/status": storage})
	}
	return s
}

// Each of many concurrent updates through two servers is stored once, in few writes. An update that fails stores nothing.
func TestConcurrentStatusUpdatesShareWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := &contested{t: t, stored: newSample()}
		servers := []*Statuses[sample, served]{newStatuses(storage), newStatuses(storage)}
		refused := errors.New("no")
		ctx := warning.WithWarningRecorder(t.Context(), silent{t})
		var clients sync.WaitGroup
		for i := range 60 {
			clients.Go(func() {
				err := servers[i%2].UpdateStatus(ctx, "ns", "demo", func(object *served) error {
					if i%3 == 0 {
						return refused
					}
					object.Status.Replicas++
					object.Labels["a"] = "changed"
					return nil
				})
				assert.Equal(t, i%3 == 0, errors.Is(err, refused), "%v", err)
			})
		}
		clients.Wait()
		assert.EqualValues(t, 3+40, storage.stored.Status.Replicas)
		assert.Less(t, storage.writes, 10)
		assert.Equal(t, newSample().Spec, storage.stored.Spec)
	})
}

// silent fails the test if a warning is recorded.
type silent struct{ t *testing.T }

func (s silent) AddWarning(_, text string) { s.t.Error(text) }

func TestStatusUpdatesFailWhileTheStoreIsNotOpen(t *testing.T) {
	nothing := func(*served) error { return nil }
	closed := newStatuses(nil)
	err := closed.UpdateStatus(t.Context(), "ns", "demo", nothing)
	assert.True(t, apierrors.IsServiceUnavailable(err))
	assert.ErrorContains(t, err, "the store of samples is not open yet")
	closed.Open(map[string]genericrest.Storage{"samples": &contested{}})
	assert.True(t, apierrors.IsServiceUnavailable(closed.UpdateStatus(t.Context(), "ns", "demo", nothing)), "there is no storage of /status")
	require.NotPanics(t, func() {
		var none *Statuses[sample, served]
		none.Open(map[string]genericrest.Storage{"samples/status": &contested{}})
	})
}

func TestStatusUpdatesRefuseObjectsOfAnotherType(t *testing.T) {
	_, err := newStatuses(nil).change(&corev1.Pod{}, func(*served) error { return nil })
	assert.EqualError(t, err, "a stored object of samples has type *v1.Pod")
}
