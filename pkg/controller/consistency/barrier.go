package consistency

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

const (
	// watchSeconds limits the watch of a barrier. Two seconds before the limit, API servers send a bookmark with the version that they have
	// reached. With a limit of less than three seconds, they send none.
	watchSeconds = 3
	// attempts is how often a barrier asks for a bookmark. A server of Kubernetes 1.30 may not send a new enough one: it learns from etcd only
	// now and then that a resource has not changed.
	attempts = 10
	// pollPeriod is how often the cache is compared, and attemptPeriod how long an attempt waits for it before it asks the server again.
	pollPeriod    = 50 * time.Millisecond
	attemptPeriod = 5 * time.Second
)

// Source is a resource of a server, with the selection of an informer.
type Source interface {
	List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Barrier waits until a cache shows what the server has. A replica that begins to lead needs it: its caches were filled long before, and
// may not show the last writes of the leader before it.
//
// The version of a list is that of the whole store. A cache gets a version with each change of its resource. If the resource does not
// change, it gets a bookmark about once a minute, so waiting for the version of the store takes too long. The barrier therefore asks for
// the changes since the version that the cache has, in a watch of its own that soon gets a bookmark. It waits only for the last of them.
type Barrier struct {
	// Resource is the name in logs.
	Resource string
	// Reached returns the version of the cache, or "" if the cache does not know it. Such a cache is not waited for.
	Reached func() string
	// Open returns the source, and the selectors of the informer. It is called again after an error.
	Open func() (Source, metav1.ListOptions, error)
}

// errNoBookmark is returned by lastChange.
var errNoBookmark = errors.New("the server sent no bookmark with a version that is new enough")

// Pass returns when the cache shows all changes before the call, or with an error when ctx ends. A server that does not answer is asked
// until it does.
func (b *Barrier) Pass(ctx context.Context) error {
	logger, bookmarks := klog.FromContext(ctx), 0
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := b.attempt(ctx)
		if errors.Is(err, errNoBookmark) {
			bookmarks++
		}
		switch {
		case err == nil:
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err() // The replica stops.
		case bookmarks >= attempts:
			logger.Error(err, "Cannot tell whether a cache is current, continuing without", "resource", b.Resource)
			return true, nil
		}
		logger.Info("Waiting for a cache to show what the server has", "resource", b.Resource, "reached", b.Reached(), "err", err)
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the cache of %s: %w", b.Resource, err)
	}
	return nil
}

// attempt asks the server which version the cache must show, and waits a short time for it.
func (b *Barrier) attempt(ctx context.Context) error {
	wanted, err := b.wanted(ctx)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, pollPeriod, attemptPeriod, true, func(context.Context) (bool, error) {
		return b.shows(wanted), nil
	})
}

// wanted returns the version of the last change that the server has, or "" if the cache shows it.
func (b *Barrier) wanted(ctx context.Context) (string, error) {
	if b.Reached() == "" {
		return "", nil
	}
	source, options, err := b.Open()
	if err != nil {
		return "", err
	}
	first := options
	first.Limit = 1
	list, err := source.List(ctx, first)
	if err != nil {
		return "", fmt.Errorf("list: %w", err)
	}
	if latest := list.GetResourceVersion(); !b.shows(latest) {
		options.ResourceVersion = b.Reached()
		return lastChange(ctx, source, options, latest)
	}
	return "", nil
}

// lastChange returns the version of the last change after the version in the options. A change that is not older than latest ends the
// search, and so does a bookmark that is not older.
func lastChange(ctx context.Context, source Source, options metav1.ListOptions, latest string) (last string, err error) {
	options.AllowWatchBookmarks, options.TimeoutSeconds = true, ptr.To[int64](watchSeconds)
	changes, err := source.Watch(ctx, options)
	if err != nil {
		return "", fmt.Errorf("watch: %w", err)
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		if event.Type == watch.Error {
			return "", fmt.Errorf("watch: %w", apierrors.FromObject(event.Object))
		}
		object, err := meta.Accessor(event.Object)
		if err != nil {
			return "", fmt.Errorf("watch: %w", err)
		}
		if event.Type != watch.Bookmark {
			last = object.GetResourceVersion()
		}
		if notOlder(object.GetResourceVersion(), latest) {
			return last, nil
		}
	}
	return "", errNoBookmark
}

// shows reports whether the cache has the version. A version that cannot be compared does not make the caller wait.
func (b *Barrier) shows(version string) bool {
	reached := b.Reached()
	return version == "" || reached == "" || notOlder(reached, version)
}

func notOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order >= 0
}
