package controller

import (
	"context"
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
	t         *testing.T
	leftovers *Leftovers
	client    *dynamicfake.FakeDynamicClient
	owners    cache.Indexer
	live      metav1.Object
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
	require.NoError(t, IndexByOwner(pods))
	var objects []runtime.Object
	for name, owner := range map[string]types.UID{"old-1": "1", "old-2": "1", "new": "2"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cloneSetWithUID(owner), kind)},
		}}
		require.NoError(t, pods.GetIndexer().Add(pod))
		objects = append(objects, pod)
	}
	w.client = dynamicfake.NewSimpleDynamicClient(kubescheme.Scheme, objects...)
	w.owners = cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	require.NoError(t, w.owners.Add(cloneSetWithUID("2")))
	w.leftovers.add(&leftoverSource{
		resource: podResource, kind: kind.GroupKind(), objects: pods.GetIndexer(), owners: w.owners, client: w.client,
		live: func(context.Context, string, string) (metav1.Object, error) { return w.live, nil },
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
