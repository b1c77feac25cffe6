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
	// leftoversInterval is the time between two searches. A search looks at the owner reference of each object in the caches.
	leftoversInterval = time.Minute
	// leftoversDelay is the time that the garbage collector has before its work is done here. Its watches start again within 30 seconds.
	leftoversDelay = 3 * time.Minute
)

// Leftovers deletes the objects that the garbage collector of Kubernetes overlooked. The garbage collector learns of a deleted owner from a
// watch, and its watches end when the API server of the owner ends. If an owner is deleted and created again under its name before they
// start again, the garbage collector sees one object that changed, and never looks at what the first one owned.
type Leftovers struct {
	sources []*leftoverSource
	// since is the time at which another object was first seen under the name of an owner.
	since map[ownership]time.Time
}

// ownership is what an object says about its controller. Only the objects of one ownership are judged together. So what somebody writes
// into the owner reference of one object decides about no other object: not about those of another namespace, and not about those that name
// another owner.
type ownership struct {
	kind            schema.GroupKind
	namespace, name string
	uid             types.UID
}

// leftoverSource is where to look for objects of one resource whose controllers are of one kind.
type leftoverSource struct {
	resource schema.GroupVersionResource
	kind     schema.GroupKind
	// owners are the objects of the kind.
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
	since := map[ownership]time.Time{}
	for _, source := range l.sources {
		for owner, objects := range source.leftBehind() {
			first, known := l.since[owner]
			if !known {
				first = now
			}
			since[owner] = first
			if now.Sub(first) < leftoversDelay {
				continue
			}
			if err := source.deleteAll(ctx, owner, objects); err != nil {
				klog.FromContext(ctx).Error(err, "Cannot delete what a deleted object owns", "resource", source.resource.Resource,
					"owner", klog.KRef(owner.namespace, owner.name), "ownerUID", owner.uid)
			}
		}
	}
	l.since = since
}

// leftBehind returns the objects whose owner is gone, if the cache shows another object under the name of this owner. If it shows none, the
// garbage collector has seen the deletion. Objects that are being deleted need nothing.
func (s *leftoverSource) leftBehind() map[ownership][]metav1.Object {
	left := map[ownership][]metav1.Object{}
	for _, item := range s.objects.List() {
		object, ok := item.(metav1.Object)
		if !ok || object.GetDeletionTimestamp() != nil {
			continue
		}
		owner, named := s.ownerOf(object)
		if !named {
			continue
		}
		item, _, _ := s.owners.GetByKey(cache.NewObjectName(owner.namespace, owner.name).String()) // The cache returns no error.
		if now, ok := item.(metav1.Object); ok && now.GetUID() != owner.uid {
			left[owner] = append(left[owner], object)
		}
	}
	return left
}

// ownerOf returns what the object says about its controller, if the controller is of the source's kind.
func (s *leftoverSource) ownerOf(object metav1.Object) (ownership, bool) {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != s.kind.Kind || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != s.kind {
		return ownership{}, false
	}
	return ownership{kind: s.kind, namespace: object.GetNamespace(), name: ref.Name, uid: ref.UID}, true
}

// deleteAll deletes objects of one owner in the background, as the garbage collector does, if the server confirms that another object has
// the name of the owner.
func (s *leftoverSource) deleteAll(ctx context.Context, owner ownership, objects []metav1.Object) error {
	live, err := s.live(ctx, owner.namespace, owner.name)
	if err != nil {
		return err
	}
	if live == nil || live.GetUID() == owner.uid {
		return nil
	}
	var errs []error
	for _, object := range objects {
		klog.FromContext(ctx).Info("Deleting what a deleted object owns", "resource", s.resource.Resource,
			"object", klog.KObj(object), "owner", owner.name, "ownerUID", owner.uid)
		// The resource version makes sure that the object still names this owner.
		err := s.client.Resource(s.resource).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())},
			PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("delete %s: %w", object.GetName(), err))
		}
	}
	return errors.Join(errs...)
}
