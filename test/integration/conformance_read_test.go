//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// checkProtobuf reads an object in protobuf in each version.
func checkProtobuf(t *testing.T, k *kind) {
	created := k.create(t, "protobuf")
	for _, version := range k.versions() {
		result := env.kube.Discovery().RESTClient().Get().AbsPath(k.path(version), created.GetName()).
			SetHeader("Accept", protobuf).Do(t.Context())
		data, err := result.Raw()
		require.NoError(t, err)
		var contentType string
		result.ContentType(&contentType)
		assert.Equal(t, protobuf, contentType)
		assert.Equal(t, "k8s\x00", string(data[:4]))
		assert.Contains(t, string(data), string(created.GetUID()))
	}
}

// checkPages lists the objects in two pages.
func checkPages(t *testing.T, k *kind) {
	k.create(t, "page-1")
	k.create(t, "page-2")
	page, err := k.client().List(t.Context(), metav1.ListOptions{Limit: 1, LabelSelector: k.selector()})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.NotEmpty(t, page.GetContinue())
	next, err := k.client().List(t.Context(), metav1.ListOptions{Limit: 1, LabelSelector: k.selector(), Continue: page.GetContinue()})
	require.NoError(t, err)
	require.Len(t, next.Items, 1)
	assert.NotEqual(t, page.Items[0].GetUID(), next.Items[0].GetUID())
	assert.Equal(t, page.GetResourceVersion(), next.GetResourceVersion(), "one moment")
}

// checkSelectors lists objects by name and by label, from the store and from the cache.
func checkSelectors(t *testing.T, k *kind) {
	one := withLabel(k.object("selected"), "color", "blue")
	_, err := k.client().Create(t.Context(), one, metav1.CreateOptions{})
	require.NoError(t, err)
	k.create(t, "not-selected")
	for name, options := range map[string]metav1.ListOptions{
		"field": {FieldSelector: "metadata.name=" + one.GetName()},
		"label": {LabelSelector: k.selector() + ",color in (blue, green)"},
		"both":  {FieldSelector: "metadata.name=" + one.GetName(), LabelSelector: "color=blue"},
	} {
		list, err := k.client().List(t.Context(), options)
		require.NoError(t, err, name)
		require.Len(t, list.Items, 1, name)
		assert.Equal(t, one.GetName(), list.Items[0].GetName(), name)
		// This list may come from the cache, but it must not be older than the first one.
		options.ResourceVersion, options.ResourceVersionMatch = list.GetResourceVersion(), metav1.ResourceVersionMatchNotOlderThan
		list, err = k.client().List(t.Context(), options)
		require.NoError(t, err, name)
		assert.Len(t, list.Items, 1, name)
	}
	_, err = k.client().List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nothing=1"})
	assert.ErrorContains(t, err, "not a known field selector")
}

// initially returns the options of a watch that begins with the existing objects.
func (k *kind) initially() metav1.ListOptions {
	return metav1.ListOptions{
		LabelSelector: "watched=" + k.run, SendInitialEvents: new(true), AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
}

// checkWatchList watches existing and new objects.
func checkWatchList(t *testing.T, k *kind) {
	first := withLabel(k.object("watched-1"), "watched", k.run)
	_, err := k.client().Create(t.Context(), first, metav1.CreateOptions{})
	require.NoError(t, err)
	watcher, err := k.client().Watch(t.Context(), k.initially())
	require.NoError(t, err)
	k.follow(t, watcher, first.GetName(), "watched-2")
}

// checkMetadata lists and watches metadata only, as the garbage collector and quota do.
func checkMetadata(t *testing.T, k *kind) {
	first := withLabel(k.object("metadata-1"), "watched", k.run+"-metadata")
	_, err := k.client().Create(t.Context(), first, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, version := range k.versions() {
		options := k.initially()
		options.LabelSelector += "-metadata"
		list, err := k.metadata.Resource(k.resource(version)).Namespace(k.namespace).
			List(t.Context(), metav1.ListOptions{LabelSelector: options.LabelSelector})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		assert.Equal(t, first.GetName(), list.Items[0].Name)
		assert.NotEmpty(t, list.Items[0].UID)

		watcher, err := k.metadata.Resource(k.resource(version)).Namespace(k.namespace).Watch(t.Context(), options)
		require.NoError(t, err)
		k.follow(t, watcher, first.GetName(), "metadata-"+version)
	}
}

// follow expects the existing objects, the bookmark after them, and then the events of another object.
func (k *kind) follow(t *testing.T, watcher watch.Interface, there, second string) {
	t.Helper()
	defer watcher.Stop()
	event := next(t, watcher)
	require.Equal(t, watch.Added, event.Type)
	assert.Equal(t, there, named(t, event))
	event = next(t, watcher)
	require.Equal(t, watch.Bookmark, event.Type)
	bookmark, err := meta.Accessor(event.Object)
	require.NoError(t, err)
	assert.Equal(t, "true", bookmark.GetAnnotations()[metav1.InitialEventsAnnotationKey])

	existing, err := k.client().Get(t.Context(), there, metav1.GetOptions{})
	require.NoError(t, err)
	object := withLabel(k.object(second), "watched", existing.GetLabels()["watched"])
	_, err = k.client().Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	// Without finalizers, see free, the deletion is one event.
	body := []byte(`{"metadata":{"labels":{"a":"b"},"finalizers":null}}`)
	_, err = k.client().Patch(t.Context(), object.GetName(), types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, k.client().Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}))
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		event = next(t, watcher)
		for event.Type == watch.Bookmark {
			event = next(t, watcher)
		}
		assert.Equal(t, want, event.Type)
		assert.Equal(t, object.GetName(), named(t, event))
	}
}

func named(t *testing.T, event watch.Event) string {
	t.Helper()
	object, err := meta.Accessor(event.Object)
	require.NoError(t, err)
	return object.GetName()
}

func next(t *testing.T, watcher watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, ok := <-watcher.ResultChan():
		require.True(t, ok, "the watch ended")
		return event
	case <-time.After(patience):
		require.Fail(t, "no event")
		return watch.Event{}
	}
}
