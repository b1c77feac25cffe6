package pod

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/groupcommit"
)

// storedSpreads stores WorkloadSpreads as the generic store does: a write fails if the object has changed since it was read, and is
// then decided again.
type storedSpreads struct {
	lock      sync.Mutex
	objects   map[types.NamespacedName]*v1beta1.WorkloadSpread
	versions  map[types.NamespacedName]int
	writes    int
	conflicts int
	fails     error
	// written is called with each stored object.
	written func(*v1beta1.WorkloadSpread)
}

func newStoredSpreads() *storedSpreads {
	return &storedSpreads{
		objects: map[types.NamespacedName]*v1beta1.WorkloadSpread{}, versions: map[types.NamespacedName]int{},
		written: func(*v1beta1.WorkloadSpread) {},
	}
}

// replica is the writer of one API server.
type replica struct {
	writer *groupcommit.Writer[types.NamespacedName, *v1beta1.WorkloadSpread]
}

func (s *storedSpreads) replica() *replica {
	return &replica{writer: groupcommit.New(s.write)}
}

func (r *replica) UpdateStatus(ctx context.Context, namespace, name string, update func(*v1beta1.WorkloadSpread) error) error {
	return r.writer.Do(ctx, types.NamespacedName{Namespace: namespace, Name: name}, update)
}

func (s *storedSpreads) read(key types.NamespacedName) (*v1beta1.WorkloadSpread, int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	object := s.objects[key]
	if object == nil {
		return nil, 0, apierrors.NewNotFound(schema.GroupResource{Resource: "workloadspreads"}, key.Name)
	}
	return object.DeepCopy(), s.versions[key], s.fails
}

func (s *storedSpreads) write(_ context.Context, key types.NamespacedName, change func(*v1beta1.WorkloadSpread) error) error {
	for {
		object, version, err := s.read(key)
		if err != nil {
			return err
		}
		before := object.DeepCopy()
		if err := change(object); err != nil || equality.Semantic.DeepEqual(before, object) {
			return err
		}
		if s.swap(key, version, object) {
			return nil
		}
	}
}

func (s *storedSpreads) swap(key types.NamespacedName, version int, object *v1beta1.WorkloadSpread) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.versions[key] != version {
		s.conflicts++
		return false
	}
	s.objects[key], s.versions[key] = object, version+1
	s.writes++
	s.written(object)
	return true
}
