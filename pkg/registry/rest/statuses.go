package rest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"kruise.io/kruise/pkg/workload/groupcommit"
)

// Statuses lets admission update the status of objects in the store without a request. Concurrent updates of one object are combined
// into one write. A Statuses is created before the store is open, and UpdateStatus fails until the kind is served. H is the hub type of
// the kind, and V the type of the version that callers use.
type Statuses[H, V any] struct {
	resource schema.GroupVersionResource
	convert  func(from *H, to *V, scope conversion.Scope) error
	keep     func(from *V, to *H) error
	// status is nil until the store is open. It is set before the first request, and only read afterwards.
	status genericrest.Updater
	// writer combines the updates that wait while a write of the same object is under way.
	writer *groupcommit.Writer[types.NamespacedName, *V]
}

// NewStatuses returns a Statuses whose store is not open yet. convert converts a stored object to the version of the resource; the result
// may share memory with it. keep copies the status of the result into the object that is stored.
func NewStatuses[H, V any](
	resource schema.GroupVersionResource, convert func(from *H, to *V, scope conversion.Scope) error, keep func(from *V, to *H) error,
) *Statuses[H, V] {
	s := &Statuses[H, V]{resource: resource, convert: convert, keep: keep}
	s.writer = groupcommit.New(s.write)
	return s
}

// Open keeps the storage of /status, unless s is nil. It is the Extend of the kind.
func (s *Statuses[H, V]) Open(storages map[string]genericrest.Storage) {
	if s == nil {
		return
	}
	if status, ok := storages[s.resource.Resource+"/status"].(genericrest.Updater); ok {
		s.status = status
	}
}

// UpdateStatus calls update with the stored object and stores the new status unless nothing changed. After a conflict it calls update
// again with the newer object, until ctx ends. It returns an error of update unchanged; update must not have changed the object then.
func (s *Statuses[H, V]) UpdateStatus(ctx context.Context, namespace, name string, update func(*V) error) error {
	if s.status == nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("the store of %s is not open yet", s.resource.Resource))
	}
	return s.writer.Do(ctx, types.NamespacedName{Namespace: namespace, Name: name}, update)
}

// write stores the combined update of an object for all its waiting callers. The context belongs to one of them, which may already have
// its answer. So write discards warnings.
func (s *Statuses[H, V]) write(ctx context.Context, key types.NamespacedName, update func(*V) error) error {
	ctx = genericapirequest.WithNamespace(genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIGroup: s.resource.Group, APIVersion: s.resource.Version,
		Resource: s.resource.Resource, Subresource: "status", Namespace: key.Namespace, Name: key.Name,
	}), key.Namespace)
	change := func(_ context.Context, _, stored runtime.Object) (runtime.Object, error) {
		return s.change(stored, update)
	}
	_, _, err := s.status.Update(warning.WithWarningRecorder(ctx, nil), key.Name, genericrest.DefaultUpdatedObjectInfo(nil, change),
		nil, nil, false, &metav1.UpdateOptions{})
	return err
}

// change applies update to the stored object. It works on a copy, because the stored object may be in a cache. Only the status of the
// result is kept, so an update cannot change anything else. The store calls change again after a conflict.
func (s *Statuses[H, V]) change(stored runtime.Object, update func(*V) error) (runtime.Object, error) {
	changed := stored.DeepCopyObject()
	object, ok := any(changed).(*H)
	if !ok {
		return nil, fmt.Errorf("a stored object of %s has type %T", s.resource.Resource, stored)
	}
	versioned := new(V)
	if err := s.convert(object, versioned, nil); err != nil {
		return nil, fmt.Errorf("convert an object of %s: %w", s.resource.Resource, err)
	}
	if err := update(versioned); err != nil {
		return nil, err
	}
	if err := s.keep(versioned, object); err != nil {
		return nil, fmt.Errorf("convert a status of %s: %w", s.resource.Resource, err)
	}
	return changed, nil
}
