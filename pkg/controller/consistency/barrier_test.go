package consistency

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// barrierSource is a server whose store is at version, with events for each watch.
type barrierSource struct {
	version string
	events  []watch.Event
	// failures is how often a list fails first.
	failures         int
	lists, watches   int
	options, watched metav1.ListOptions
}

func (s *barrierSource) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s.options = options
	if s.lists++; s.lists <= s.failures {
		return nil, apierrors.NewServiceUnavailable("down")
	}
	list := &unstructured.UnstructuredList{}
	list.SetResourceVersion(s.version)
	return list, nil
}

// Watch sends the events and then waits, as a server does, for the time limit.
func (s *barrierSource) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.watches++
	s.watched = options
	w := watch.NewFakeWithChanSize(len(s.events), false)
	for _, event := range s.events {
		w.Action(event.Type, event.Object)
	}
	time.AfterFunc(time.Duration(*options.TimeoutSeconds)*time.Second, w.Stop)
	return w, nil
}

func at(kind watch.EventType, version string) watch.Event {
	return watch.Event{Type: kind, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}}
}

func barrier(source Source, reached func() string) *Barrier {
	return &Barrier{Reached: reached, Open: func() (Source, metav1.ListOptions, error) {
		return source, metav1.ListOptions{LabelSelector: "a=b"}, nil
	}}
}

func TestBarrierWaitsForTheLastChange(t *testing.T) {
	for name, c := range map[string]struct {
		reached string
		events  []watch.Event
		// then is the version that the cache reaches after a second. If waits is false, the barrier passes before that.
		then  string
		waits bool
	}{
		"the cache is current":                      {reached: "20"},
		"the cache does not know its version":       {reached: ""},
		"nothing has changed":                       {reached: "10", events: []watch.Event{at(watch.Bookmark, "20")}},
		"something has changed":                     {reached: "10", events: []watch.Event{at(watch.Modified, "15"), at(watch.Bookmark, "21")}, then: "15", waits: true},
		"an old bookmark says nothing":              {reached: "10", events: []watch.Event{at(watch.Bookmark, "12"), at(watch.Deleted, "20")}, then: "20", waits: true},
		"a change after the call proves the others": {reached: "10", events: []watch.Event{at(watch.Added, "13"), at(watch.Added, "25")}, then: "25", waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reached atomic.Value
				reached.Store(c.reached)
				time.AfterFunc(time.Second, func() { reached.Store(c.then) })
				source := &barrierSource{version: "20", events: c.events}
				b := barrier(source, func() string { return reached.Load().(string) }) //nolint:forcetypeassert // It holds strings.
				began := time.Now()
				require.NoError(t, b.Pass(t.Context()))
				assert.Equal(t, c.waits, time.Since(began) >= time.Second)
				if source.lists > 0 {
					assert.Equal(t, metav1.ListOptions{LabelSelector: "a=b", Limit: 1}, source.options)
				}
				if source.watches > 0 {
					assert.Equal(t, "10", source.watched.ResourceVersion)
					assert.Equal(t, "a=b", source.watched.LabelSelector)
				}
			})
		})
	}
}

func TestBarrierAsksUntilTheServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &barrierSource{version: "20", failures: 5}
		require.NoError(t, barrier(source, func() string { return "20" }).Pass(t.Context()))
		assert.Equal(t, 6, source.lists)
	})
}

func TestBarrierEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		source := &barrierSource{version: "20", events: []watch.Event{at(watch.Modified, "20")}}
		require.Error(t, barrier(source, func() string { return "10" }).Pass(ctx))
		assert.NoError(t, t.Context().Err())
	})
}

// A server that never says how far it is must not stop the controllers.
func TestBarrierContinuesWithoutBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &barrierSource{version: "20"}
		require.NoError(t, barrier(source, func() string { return "10" }).Pass(t.Context()))
		assert.Equal(t, attempts, source.watches)
	})
}

// The cache must be filled again when its version is too old for a watch.
func TestBarrierWaitsForACacheThatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reached atomic.Value
		reached.Store("10")
		time.AfterFunc(10*time.Second, func() { reached.Store("20") })
		expired := apierrors.NewResourceExpired("too old").Status()
		source := &barrierSource{version: "20", events: []watch.Event{{Type: watch.Error, Object: &expired}}}
		began := time.Now()
		b := barrier(source, func() string { return reached.Load().(string) }) //nolint:forcetypeassert // It holds strings.
		require.NoError(t, b.Pass(t.Context()))
		assert.GreaterOrEqual(t, time.Since(began), 10*time.Second)
	})
}
