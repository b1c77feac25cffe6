package controllertest

import (
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Versions keeps every version of one object that another API server stores, for a controller whose cache lags.
type Versions[T interface {
	metav1.Object
	runtime.Object
}] struct {
	// Server decides which writes fail.
	Server   *Server
	Resource schema.GroupResource
	all      []T
	// seen is the version that the cache shows.
	seen int
}

// Newest returns the stored object.
func (v *Versions[T]) Newest() T { return v.all[len(v.all)-1] }

// Cached returns the object that the cache shows.
func (v *Versions[T]) Cached() T { return v.all[v.seen] }

// Count returns how often the object was written.
func (v *Versions[T]) Count() int { return len(v.all) }

// Lag makes the cache show a random number of further versions.
func (v *Versions[T]) Lag() { v.seen += v.Server.Rand.IntN(len(v.all) - v.seen) }

// CatchUp makes the cache show the stored object.
func (v *Versions[T]) CatchUp() { v.seen = len(v.all) - 1 }

// Store makes the object the newest version.
func (v *Versions[T]) Store(object T) T {
	object.SetResourceVersion(strconv.Itoa(len(v.all) + 1))
	v.all = append(v.all, object)
	return object
}

// Edit changes the spec as a user does.
func (v *Versions[T]) Edit(change func(T)) {
	object := v.Newest().DeepCopyObject().(T)
	change(object)
	object.SetGeneration(object.GetGeneration() + 1)
	v.Store(object)
}

// LastStoreSyncResourceVersion implements consistency.Store.
func (v *Versions[T]) LastStoreSyncResourceVersion() string { return v.Cached().GetResourceVersion() }

// GetByKey implements consistency.Store.
func (v *Versions[T]) GetByKey(string) (any, bool, error) { return v.Cached(), true, nil }

// Write changes the stored object as the controller does. The write fails if the object is at another version.
func (v *Versions[T]) Write(version string, change func(T) error) (T, error) {
	var none T
	written, err := v.Server.Write(func() (metav1.Object, error) {
		stored := v.Newest().DeepCopyObject().(T)
		if stored.GetResourceVersion() != version {
			return nil, apierrors.NewConflict(v.Resource, stored.GetName(), errors.New("another version"))
		}
		if err := change(stored); err != nil {
			return nil, err
		}
		return v.Store(stored), nil
	})
	if err != nil {
		return none, err
	}
	return written.(T), nil
}
