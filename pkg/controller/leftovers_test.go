package controller

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// leftoversWorld has two Pods of the CloneSet web with the UID 1, and the CloneSet web with the UID 2.
type leftoversWorld struct {
	t              *testing.T
	leftovers      *Leftovers
	client         *dynamicfake.FakeDynamicClient
	cached, owners cache.Indexer
	live           metav1.Object
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func cloneSetWithUID(uid types.UID) *v1beta1.CloneSet {
	return &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid}}
}

func newLeftoversWorld(t *testing.T) *leftoversWorld {
	t.Helper()
	w := &leftoversWorld{t: t, leftovers: &Leftovers{}, live: cloneSetWithUID("2")}
	kind := v1beta1.SchemeGroupVersion.WithKind("CloneSet")
	pods := informers.NewSharedInformerFactory(kubefake.NewClientset(), 0).Core().V1().Pods().Informer()
	var objects []runtime.Object
	for name, owner := range map[string]types.UID{"old-1": "1", "old-2": "1", "new": "2"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cloneSetWithUID(owner), kind)},
		}}
		require.NoError(t, pods.GetIndexer().Add(pod))
		objects = append(objects, pod)
	}
	w.client, w.cached = dynamicfake.NewSimpleDynamicClient(kubescheme.Scheme, objects...), pods.GetIndexer()
	w.owners = cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	require.NoError(t, w.owners.Add(cloneSetWithUID("2")))
	w.leftovers.add(&leftoverSource{
		resource: podResource, kind: kind.GroupKind(), objects: pods.GetIndexer(), owners: w.owners, client: w.client,
		live: func(_ context.Context, namespace, _ string) (metav1.Object, error) {
			item, found, _ := w.owners.GetByKey(namespace + "/web")
			if w.live == nil || namespace == w.live.GetNamespace() || !found {
				return w.live, nil
			}
			return item.(metav1.Object), nil
		},
	})
	return w
}

// searched runs searches for ten minutes, and returns the names of the remaining Pods.
func (w *leftoversWorld) searched() (names []string) {
	w.t.Helper()
	for now := time.Unix(0, 0); now.Before(time.Unix(600, 0)); now = now.Add(leftoversInterval) {
		w.leftovers.search(w.t.Context(), now)
	}
	return w.pods()
}

func (w *leftoversWorld) pods() (names []string) {
	w.t.Helper()
	list, err := w.client.Resource(podResource).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, pod := range list.Items {
		names = append(names, pod.GetName())
	}
	return names
}

func TestPodsOfAReplacedOwnerAreDeleted(t *testing.T) {
	w := newLeftoversWorld(t)
	w.leftovers.search(t.Context(), time.Unix(0, 0))
	w.leftovers.search(t.Context(), time.Unix(0, 0).Add(leftoversDelay-time.Second))
	assert.Len(t, w.pods(), 3, "the garbage collector has time")
	w.leftovers.search(t.Context(), time.Unix(0, 0).Add(leftoversDelay))
	assert.Equal(t, []string{"new"}, w.pods())
}

func TestPodsWithoutAReplacedOwnerStay(t *testing.T) {
	all := []string{"new", "old-1", "old-2"}
	for name, change := range map[string]func(w *leftoversWorld){
		"the cache shows no owner, for example after a loss of the store": func(w *leftoversWorld) {
			require.NoError(w.t, w.owners.Delete(cloneSetWithUID("2")))
		},
		"the server has no owner":             func(w *leftoversWorld) { w.live = nil },
		"the server has the owner of the Pod": func(w *leftoversWorld) { w.live = cloneSetWithUID("1") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newLeftoversWorld(t)
			change(w)
			assert.ElementsMatch(t, all, w.searched())
		})
	}
}

// The time of the garbage collector begins again if the owner was there in between.
func TestOwnerThatReturnsResetsTheDelay(t *testing.T) {
	w := newLeftoversWorld(t)
	w.leftovers.search(t.Context(), time.Unix(0, 0))
	require.NoError(t, w.owners.Update(cloneSetWithUID("1")))
	w.leftovers.search(t.Context(), time.Unix(0, 0).Add(time.Minute))
	require.NoError(t, w.owners.Update(cloneSetWithUID("2")))
	w.leftovers.search(t.Context(), time.Unix(0, 0).Add(leftoversDelay))
	assert.Len(t, w.pods(), 3)
}

// An owner reference has no namespace, and anybody can write the UID of another namespace's object into one.
func TestReferenceOfAnotherNamespaceDeletesNothing(t *testing.T) {
	for name, meta := range map[string]metav1.ObjectMeta{
		"in another namespace":             {Namespace: "dev", Name: "thief", UID: "thief"},
		"under another name, in this one":  {Namespace: "default", Name: "thief", UID: "thief"},
		"being deleted, held by its owner": {Namespace: "dev", Name: "thief", UID: "thief", Finalizers: []string{"dev/keep"}, DeletionTimestamp: &metav1.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLeftoversWorld(t)
			w.live = cloneSetWithUID("1")
			require.NoError(t, w.owners.Update(cloneSetWithUID("1")))
			other := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: "x", UID: "x"}}
			require.NoError(t, w.owners.Add(other))
			meta.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
				&v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "1"}}, v1beta1.SchemeGroupVersion.WithKind("CloneSet"))}
			// Of several objects with one UID, the index returns a random one first.
			for i := range 20 {
				pod := &corev1.Pod{ObjectMeta: *meta.DeepCopy()}
				pod.Name += strconv.Itoa(i)
				require.NoError(t, w.cached.Add(pod))
			}
			assert.Subset(t, w.searched(), []string{"old-1", "old-2"})
		})
	}
}
