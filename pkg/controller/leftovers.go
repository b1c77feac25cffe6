package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

const (
	// leftoversInterval is the time between two searches. A search looks once at each owner of the objects in the caches, and not at each
	// object.
	leftoversInterval = time.Minute
	// leftoversDelay is the time that the garbage collector has before its work is done here. Its watches start again within 30 seconds.
	leftoversDelay = 3 * time.Minute
)

// Leftovers deletes the objects that the garbage collector of Kubernetes overlooked. The garbage collector learns of a deleted owner from a
// watch, and its watches end when the API server of the owner ends. If an owner is deleted and created again under its name before they
// start again, the garbage collector sees one object that changed, and never looks at what the first one owned.
type Leftovers struct {
	sources []*leftoverSource
	// since is the time at which another object was first seen under the name of an owner, by the UID of the owner.
	since map[types.UID]time.Time
}

// leftoverSource is where to look for objects of one resource whose controllers are of one kind.
type leftoverSource struct {
	resource schema.GroupVersionResource
	kind     schema.GroupKind
	// objects has the index of IndexByOwner. owners are the objects of the kind.
	objects, owners cache.Indexer
	client          dynamic.Interface
	// live reads an owner past the cache. It returns nil if the owner does not exist.
	live func(ctx context.Context, namespace, name string) (metav1.Object, error)
}

// add adds a source, before Run. The receiver may be nil, in which case nothing is deleted.
func (l *Leftovers) add(source *leftoverSource) {
	if l == nil {
		return
	}
	l.sources = append(l.sources, source)
}

// Run searches until the context ends. Only the leading replica may call it. The receiver may be nil.
func (l *Leftovers) Run(ctx context.Context, clock clock.WithTicker) {
	if l == nil {
		return
	}
	ticker := clock.NewTicker(leftoversInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			l.search(ctx, clock.Now())
		}
	}
}

// search deletes what is overdue. What cannot be read or deleted is tried again by the next search.
func (l *Leftovers) search(ctx context.Context, now time.Time) {
	since := map[types.UID]time.Time{}
	for _, source := range l.sources {
		for _, owner := range source.objects.ListIndexFuncValues(ownerIndex) {
			objects := source.leftBehind(owner)
			if len(objects) == 0 {
				continue
			}
			uid := types.UID(owner)
			first, known := l.since[uid]
			if !known {
				first = now
			}
			since[uid] = first
			if now.Sub(first) < leftoversDelay {
				continue
			}
			if err := source.deleteAll(ctx, objects); err != nil {
				klog.FromContext(ctx).Error(err, "Cannot delete what a deleted object owns", "resource", source.resource.Resource, "owner", owner)
			}
		}
	}
	l.since = since
}

// leftBehind returns the objects whose controller has the UID, if the cache shows another object under the name of this controller. If it
// shows none, the garbage collector has seen the deletion.
func (s *leftoverSource) leftBehind(owner string) []metav1.Object {
	objects, err := byIndex[metav1.Object](s.objects, ownerIndex, owner)
	if err != nil || len(objects) == 0 {
		return nil
	}
	ref := metav1.GetControllerOfNoCopy(objects[0])
	if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != s.kind {
		return nil
	}
	item, _, _ := s.owners.GetByKey(cache.NewObjectName(objects[0].GetNamespace(), ref.Name).String()) // The cache returns no error.
	if now, ok := item.(metav1.Object); !ok || now.GetUID() == ref.UID {
		return nil
	}
	return objects
}

// deleteAll deletes objects of one owner in the background, as the garbage collector does, if the server confirms that another object has
// the name of the owner.
func (s *leftoverSource) deleteAll(ctx context.Context, objects []metav1.Object) error {
	ref := metav1.GetControllerOfNoCopy(objects[0])
	live, err := s.live(ctx, objects[0].GetNamespace(), ref.Name)
	if err != nil {
		return err
	}
	if live == nil || live.GetUID() == ref.UID {
		return nil
	}
	var errs []error
	for _, object := range objects {
		if object.GetDeletionTimestamp() != nil {
			continue
		}
		klog.FromContext(ctx).Info("Deleting what a deleted object owns", "resource", s.resource.Resource,
			"object", klog.KObj(object), "owner", ref.Name, "ownerUID", ref.UID)
		err := s.client.Resource(s.resource).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions(string(object.GetUID())), PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("delete %s: %w", object.GetName(), err))
		}
	}
	return errors.Join(errs...)
}
