//go:build integration

package integration

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestBothVersionsReadWhatTheOtherWrote(t *testing.T) {
	namespace := newNamespace(t)
	alpha, beta := env.kruise.AppsV1alpha1().CloneSets(namespace), env.kruise.AppsV1beta1().CloneSets(namespace)

	written := &v1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "old"}}
	written.Spec.Selector = newCloneSet("old").Spec.Selector
	written.Spec.Template = newCloneSet("old").Spec.Template
	written.Spec.UpdateStrategy.Type = v1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
	_, err := alpha.Create(t.Context(), written, metav1.CreateOptions{})
	require.NoError(t, err)
	read, err := beta.Get(t.Context(), "old", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1beta1.RollingUpdateCloneSetStrategyType, read.Spec.UpdateStrategy.Type)
	assert.Equal(t, "InPlaceIfPossible", string(read.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy))
	assert.True(t, read.Spec.ScaleStrategy.EnablePVCReuse, "v1alpha1 reuses claims unless told otherwise")

	read.Spec.Replicas = ptr.To[int32](7)
	_, err = beta.Update(t.Context(), read, metav1.UpdateOptions{})
	require.NoError(t, err)
	back, err := alpha.Get(t.Context(), "old", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(7), *back.Spec.Replicas)
	assert.Equal(t, written.Spec.UpdateStrategy.Type, back.Spec.UpdateStrategy.Type)
}

func TestServerFillsDefaults(t *testing.T) {
	cloneSet := newCloneSet("demo")
	cloneSet.Spec.Replicas = nil
	created := create(t, cloneSets(t), cloneSet)
	assert.Equal(t, int32(1), *created.Spec.Replicas)
	assert.Equal(t, "20%", created.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.String())
	assert.Equal(t, corev1.RestartPolicyAlways, created.Spec.Template.Spec.RestartPolicy)
	assert.Equal(t, corev1.PullAlways, created.Spec.Template.Spec.Containers[0].ImagePullPolicy)
	assert.Equal(t, int64(1), created.Generation)
}

func TestGenerationCountsWhatTheUserAsksFor(t *testing.T) {
	client := cloneSets(t)
	created := create(t, client, newCloneSet("demo"))
	patch := func(body string) *v1beta1.CloneSet {
		t.Helper()
		got, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, int64(1), created.Generation)
	assert.Equal(t, int64(1), patch(`{"metadata":{"labels":{"a":"b"}}}`).Generation)
	assert.Equal(t, int64(2), patch(`{"spec":{"replicas":3}}`).Generation)
	assert.Equal(t, int64(2), patch(`{"spec":{"replicas":3}}`).Generation)
}

func TestUpdateOfAnOldVersionConflicts(t *testing.T) {
	client := cloneSets(t)
	stale := create(t, client, newCloneSet("demo"))
	fresh := stale.DeepCopy()
	fresh.Spec.Replicas = ptr.To[int32](3)
	_, err := client.Update(t.Context(), fresh, metav1.UpdateOptions{})
	require.NoError(t, err)
	stale.Spec.Replicas = ptr.To[int32](9)
	_, err = client.Update(t.Context(), stale, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestStatusIsApart(t *testing.T) {
	client := cloneSets(t)
	cloneSet := newCloneSet("demo")
	cloneSet.Status.Replicas = 5
	created := create(t, client, cloneSet)
	assert.Zero(t, created.Status.Replicas, "a user cannot create a status")

	created.Status.ReadyReplicas = 2
	created.Spec.Replicas = ptr.To[int32](9)
	created.Labels["through"] = "status"
	updated, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(2), updated.Status.ReadyReplicas)
	assert.Equal(t, int32(2), *updated.Spec.Replicas, "/status leaves the spec alone")
	assert.NotContains(t, updated.Labels, "through")
	assert.Equal(t, int64(1), updated.Generation)

	updated.Status.ReadyReplicas = 7
	updated.Spec.MinReadySeconds = 3
	after, err := client.Update(t.Context(), updated, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(2), after.Status.ReadyReplicas, "the main resource leaves the status alone")
	assert.Equal(t, int32(3), after.Spec.MinReadySeconds)
}

func TestPatchTypes(t *testing.T) {
	tests := map[string]struct {
		kind types.PatchType
		body string
	}{
		"strategic": {types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"new:v2"}]}}}}`},
		"json":      {types.JSONPatchType, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"new:v2"}]`},
		"merge": {types.MergePatchType,
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"new:v2"},{"name":"side","image":"side:v1"}]}}}}`},
	}
	client := cloneSets(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cloneSet := newCloneSet(name)
			cloneSet.Spec.Template.Spec.Containers = append(cloneSet.Spec.Template.Spec.Containers, corev1.Container{Name: "side", Image: "side:v1"})
			create(t, client, cloneSet)
			patched, err := client.Patch(t.Context(), name, test.kind, []byte(test.body), metav1.PatchOptions{})
			require.NoError(t, err)
			require.Len(t, patched.Spec.Template.Spec.Containers, 2)
			assert.Equal(t, "new:v2", patched.Spec.Template.Spec.Containers[0].Image)
			assert.Equal(t, "side:v1", patched.Spec.Template.Spec.Containers[1].Image)
		})
	}
}

func TestDryRunStoresNothing(t *testing.T) {
	client := cloneSets(t)
	_, err := client.Create(t.Context(), newCloneSet("demo"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	_, err = client.Get(t.Context(), "demo", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestDeleteCollection(t *testing.T) {
	client := cloneSets(t)
	for _, name := range []string{"a", "b", "c"} {
		create(t, client, newCloneSet(name))
	}
	require.NoError(t, client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app in (a,b)"}))
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, "c", list.Items[0].Name)
}

func TestListInPagesAndBySelector(t *testing.T) {
	client := cloneSets(t)
	for _, name := range []string{"a", "b", "c"} {
		create(t, client, newCloneSet(name))
	}
	page, err := client.List(t.Context(), metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	rest, err := client.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: page.Continue})
	require.NoError(t, err)
	assert.Len(t, rest.Items, 1)
	named, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=b"})
	require.NoError(t, err)
	assert.Len(t, named.Items, 1)
}

func TestWatch(t *testing.T) {
	client := cloneSets(t)
	create(t, client, newCloneSet("first"))
	watcher, err := client.Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	require.NoError(t, err, "a list by watch")
	defer watcher.Stop()
	event := next(t, watcher)
	assert.Equal(t, watch.Added, event.Type)
	bookmark := next(t, watcher)
	require.Equal(t, watch.Bookmark, bookmark.Type)
	assert.Equal(t, "true", bookmark.Object.(*v1beta1.CloneSet).Annotations[metav1.InitialEventsAnnotationKey])

	create(t, client, newCloneSet("second"))
	_, err = client.Patch(t.Context(), "second", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, client.Delete(t.Context(), "second", metav1.DeleteOptions{}))
	var got []watch.EventType
	for len(got) < 3 {
		if event := next(t, watcher); event.Type != watch.Bookmark {
			got = append(got, event.Type)
		}
	}
	assert.Equal(t, []watch.EventType{watch.Added, watch.Modified, watch.Deleted}, got)
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

func TestTable(t *testing.T) {
	client := cloneSets(t)
	created := create(t, client, newCloneSet("demo"))
	created.Status.Replicas, created.Status.UpdatedReplicas, created.Status.LabelSelector = 2, 1, "app=demo"
	_, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	require.NoError(t, err)

	for _, version := range []string{"v1alpha1", "v1beta1"} {
		data, err := env.kube.Discovery().RESTClient().Get().
			AbsPath("/apis/apps.kruise.io", version, "namespaces", created.Namespace, "clonesets").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		require.NoError(t, err)
		var table metav1.Table
		require.NoError(t, json.Unmarshal(data, &table))
		var names []string
		for _, column := range table.ColumnDefinitions {
			names = append(names, column.Name)
			assert.Equal(t, column.Name == "CONTAINERS" || column.Name == "IMAGES" || column.Name == "SELECTOR", column.Priority == 1, column.Name)
		}
		assert.Equal(t, []string{"Name", "DESIRED", "UPDATED", "UPDATED_READY", "UPDATED_AVAILABLE", "READY", "TOTAL", "AGE",
			"CONTAINERS", "IMAGES", "SELECTOR"}, names)
		require.Len(t, table.Rows, 1)
		cells := table.Rows[0].Cells
		assert.Equal(t, []any{"demo", 2.0, 1.0, 0.0, 0.0, 0.0, 2.0}, cells[:7])
		assert.Equal(t, []any{"web", "kruise.local/demo:v1", "app=demo"}, cells[8:])
	}
	assert.Contains(t, mustKubectl(t, "get", "clone", "-n", created.Namespace), "demo   2")
}

func TestObjectsTravelAndRestAsProtobuf(t *testing.T) {
	client := cloneSets(t)
	created := create(t, client, newCloneSet("demo"))
	var contentType string
	config := rest.CopyConfig(env.config)
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(req)
			if err == nil {
				contentType = response.Header.Get("Content-Type")
			}
			return response, err
		})
	})
	raw, err := rest.UnversionedRESTClientFor(unversioned(config))
	require.NoError(t, err)
	data, err := raw.Get().AbsPath("/apis/apps.kruise.io/v1beta1/namespaces", created.Namespace, "clonesets/demo").DoRaw(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "application/vnd.kubernetes.protobuf", contentType)
	assert.Equal(t, "k8s\x00", string(data[:4]))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestNamespaceDeletionFinishes(t *testing.T) {
	namespace := newNamespace(t)
	create(t, env.kruise.AppsV1beta1().CloneSets(namespace), newCloneSet("demo"))
	namespaces := env.kube.CoreV1().Namespaces()
	require.NoError(t, namespaces.Delete(t.Context(), namespace, metav1.DeleteOptions{}))
	eventually(t, func() bool {
		_, err := namespaces.Get(t.Context(), namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	_, err := env.kruise.AppsV1beta1().CloneSets(namespace).Create(t.Context(), newCloneSet("late"), metav1.CreateOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}
