package consistency

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// write is a write that a cache does not show yet: a version, or an object that was deleted.
type write struct {
	resource schema.GroupResource
	// version is the recorded version, and reached is that of the cache. They are empty for a deletion.
	version, reached string
	// deleted and uid name the deleted object. uid is empty for a version.
	deleted types.NamespacedName
	uid     types.UID
}

// String returns a text for logs.
func (w *write) String() string {
	if w.uid != "" {
		return fmt.Sprintf("deletion of %s %s", w.resource, w.deleted)
	}
	return fmt.Sprintf("%s: version %s, the cache has %s", w.resource, w.version, w.reached)
}

// late returns a recorded write that the store does not show, or nil. A version that cannot be compared does not make the controller
// wait: waiting could then last forever.
func (r *record) late(resource schema.GroupResource, store Store) *write {
	if wrote, reached := r.wrote[resource], store.LastStoreSyncResourceVersion(); wrote != "" && reached != "" {
		if newer, err := resourceversion.CompareResourceVersion(wrote, reached); err == nil && newer > 0 {
			return &write{resource: resource, version: wrote, reached: reached}
		}
	}
	for name, uid := range r.deleted[resource] {
		item, exists, err := store.GetByKey(keyOf(name))
		if err != nil || !exists {
			continue
		}
		if object, ok := item.(metav1.Object); ok && alive(object, uid) {
			return &write{resource: resource, deleted: name, uid: uid}
		}
	}
	return nil
}

// undone asks the server and returns whether the server does not have the write. A version of the server that is older than the write
// proves that the write is lost, because a server that keeps its data never returns an older version.
func (w *write) undone(ctx context.Context, look Look) (bool, error) {
	version, found, err := look(ctx, w.resource, w.deleted.Namespace, w.deleted.Name)
	if err != nil {
		return false, err
	}
	if w.uid != "" {
		return found != nil && alive(found, w.uid), nil
	}
	older, err := resourceversion.CompareResourceVersion(version, w.version)
	if err != nil {
		return false, fmt.Errorf("compare version %q of %s with %q: %w", version, w.resource, w.version, err)
	}
	return older < 0, nil
}

// drop removes the write from the record.
func (w *write) drop(r *record) {
	if w.uid != "" {
		delete(r.deleted[w.resource], w.deleted)
		return
	}
	delete(r.wrote, w.resource)
}

// alive reports whether the object has the UID and is not being deleted.
func alive(object metav1.Object, uid types.UID) bool {
	return object.GetUID() == uid && object.GetDeletionTimestamp() == nil
}

// keyOf returns the key in a cache. The key of a cluster-scoped object has no slash.
func keyOf(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}
