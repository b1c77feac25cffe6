package effects

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

func newEffects(t *testing.T) *Effects { return newEffectsWith(t, "") }

func newEffectsWith(t *testing.T, gates string) *Effects {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.Set(gates))
	kruise := externalversions.NewSharedInformerFactory(kruisefake.NewClientset(), 0)
	namespaces := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Namespaces().Informer()
	e, err := New(kruise, namespaces, []string{"kube-system"}, gate, nil)
	require.NoError(t, err)
	return e
}

func (e *Effects) setsOf() cache.Indexer { return e.kinds["sidecarsets"].informer.GetIndexer() }

func setOf(uid, version string) *v1beta1.SidecarSet {
	return &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID(uid), ResourceVersion: version}}
}

func namespace(name, label string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"apps.kruise.io/pod-creation": label, "kubernetes.io/metadata.name": name,
	}}}
}

type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// An answer waits until new Pods are created according to the write, but not forever.
func TestAnswersWaitForTheirEffects(t *testing.T) {
	tests := map[string]struct {
		cached    *v1beta1.SidecarSet
		namespace *corev1.Namespace
		selects   string
		deleted   bool
		// then changes the caches after a second.
		then func(*Effects) error
		took time.Duration
		warn string
	}{
		"the cache has it":             {cached: setOf("u", "7")},
		"the cache has a newer one":    {cached: setOf("u", "8")},
		"the cache has another object": {cached: setOf("v", "3")},
		"the cache is behind": {
			cached: setOf("u", "6"), then: func(e *Effects) error { return e.setsOf().Update(setOf("u", "7")) }, took: time.Second,
		},
		"the cache does not have it": {took: patience, warn: "the write has no effect on new Pods yet"},
		"a namespace is skipped": {
			cached: setOf("u", "7"), namespace: namespace("ns", "ignored"), took: time.Second,
			then: func(e *Effects) error { return e.namespaces.Update(namespace("ns", "")) },
		},
		"a namespace stays skipped": {
			cached: setOf("u", "7"), namespace: namespace("ns", "ignored"), took: patience, warn: "new Pods in namespace ns do not get",
		},
		"a namespace that is not selected": {cached: setOf("u", "7"), namespace: namespace("ns", "ignored"), selects: "other"},
		"a namespace without reviews":      {cached: setOf("u", "7"), namespace: namespace("kube-system", "ignored")},
		"deleted":                          {deleted: true},
		"deleted, and still cached": {
			cached: setOf("u", "7"), deleted: true, then: func(e *Effects) error { return e.setsOf().Delete(setOf("u", "7")) }, took: time.Second,
		},
		"deleted, and created again": {cached: setOf("v", "9"), deleted: true},
		"deleted, and always cached": {cached: setOf("u", "7"), deleted: true, took: patience, warn: "new Pods may still get"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEffects(t)
				if test.cached != nil {
					if test.selects != "" {
						test.cached.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": test.selects}}
					}
					require.NoError(t, e.setsOf().Add(test.cached))
				}
				if test.namespace != nil {
					require.NoError(t, e.namespaces.Add(test.namespace))
				}
				if test.then != nil {
					time.AfterFunc(time.Second, func() {
						assert.NoError(t, test.then(e))
						e.notify()
					})
				}
				given, start := &warnings{}, time.Now()
				e.Await(warning.WithWarningRecorder(t.Context(), given), "sidecarsets", setOf("u", "7"), test.deleted)
				assert.Equal(t, test.took, time.Since(start))
				if test.warn == "" {
					assert.Empty(t, *given)
				} else {
					require.Len(t, *given, 1)
					assert.Contains(t, (*given)[0], test.warn)
				}
			})
		})
	}
}

// The answer to the creation of an object waits until Pods of its namespace are sent to admission.
func TestAnswersWaitForTheirNamespace(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "u", ResourceVersion: "7"}
	for kind, test := range map[string]struct {
		object metav1.Object
		warn   string
	}{
		"workloadspreads":     {&v1beta1.WorkloadSpread{ObjectMeta: meta}, "do not go to the subsets of the WorkloadSpread"},
		"persistentpodstates": {&v1beta1.PersistentPodState{ObjectMeta: meta}, "do not return to the nodes of the PersistentPodState"},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEffects(t)
				require.NoError(t, e.namespaces.Add(namespace("ns", "ignored")))
				require.NoError(t, e.namespaces.Add(namespace("other", "ignored")))
				require.NoError(t, e.kinds[kind].informer.GetIndexer().Add(test.object))
				time.AfterFunc(time.Second, func() {
					assert.NoError(t, e.namespaces.Update(namespace("ns", "")))
					e.notify()
				})
				given, start := &warnings{}, time.Now()
				ctx := warning.WithWarningRecorder(t.Context(), given)
				e.Await(ctx, kind, test.object, false)
				assert.Equal(t, time.Second, time.Since(start))
				assert.Empty(t, *given)
				require.NoError(t, e.namespaces.Update(namespace("ns", "ignored")))
				e.Await(ctx, kind, test.object, false)
				assert.Equal(t, warnings{"new Pods in namespace ns " + test.warn + " while it has the label apps.kruise.io/pod-creation: " +
					"write the object again, or remove the label"}, *given)
			})
		})
	}
}

// This server removes the labels itself, so a write of a SidecarSet for many namespaces takes effect without the controllers. The answer
// waits as long as namespaces lose their labels, but not beyond the time of the request.
// Cases pod-admission 21, 21a.
func TestLabelsAreRemovedWithoutTheControllers(t *testing.T) {
	for name, test := range map[string]struct {
		namespaces int
		each       time.Duration
		took       time.Duration
		warn       string
	}{
		"one namespace": {namespaces: 1, each: time.Second, took: time.Second},
		"many":          {namespaces: 320, each: time.Second, took: 20 * time.Second},
		"too many": {namespaces: 1600, each: time.Second, took: 34*time.Second - answerTime,
			warn: "new Pods in namespace "},
		"a write that does not end": {namespaces: 1, each: time.Hour, took: patience, warn: "new Pods in namespace ns-0 do not get"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEffects(t)
				e.unlabel = func(ctx context.Context, name string) error {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(test.each):
					}
					assert.NoError(t, e.namespaces.Update(namespace(name, "")))
					e.notify()
					return nil
				}
				require.NoError(t, e.setsOf().Add(setOf("u", "7")))
				for i := range test.namespaces {
					require.NoError(t, e.namespaces.Add(namespace(fmt.Sprintf("ns-%d", i), "ignored")))
				}
				given, start := &warnings{}, time.Now()
				ctx, cancel := context.WithTimeout(warning.WithWarningRecorder(t.Context(), given), 34*time.Second)
				defer cancel()
				e.Await(ctx, "sidecarsets", setOf("u", "7"), false)
				assert.InDelta(t, test.took.Seconds(), time.Since(start).Seconds(), 0.1)
				if test.warn == "" {
					assert.Empty(t, *given)
				} else {
					require.Len(t, *given, 1)
					assert.Contains(t, (*given)[0], test.warn)
				}
			})
		})
	}
}

// A label that is already gone, and a namespace that is gone, are no errors.
func TestUnlabel(t *testing.T) {
	client := fake.NewClientset(namespace("ns", "ignored"))
	for _, name := range []string{"ns", "ns", "gone"} {
		require.NoError(t, Unlabel(client)(t.Context(), name))
	}
	left, err := client.CoreV1().Namespaces().Get(t.Context(), "ns", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"kubernetes.io/metadata.name": "ns"}, left.Labels)
}

// With their gate, PodProbeMarkers change new Pods in all namespaces, whatever their labels say.
func TestAnswersWaitForTheProbesOfNewPods(t *testing.T) {
	stored := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "u", ResourceVersion: "7"}}
	for gates, took := range map[string]time.Duration{"": 0, "EnablePodProbeMarkerOnServerless=true": time.Second} {
		t.Run(gates, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEffectsWith(t, gates)
				require.NoError(t, e.namespaces.Add(namespace("ns", "ignored")))
				time.AfterFunc(time.Second, func() {
					if kind, found := e.kinds["podprobemarkers"]; found {
						assert.NoError(t, kind.informer.GetIndexer().Add(stored))
						e.notify()
					}
				})
				given, start := &warnings{}, time.Now()
				e.Await(warning.WithWarningRecorder(t.Context(), given), "podprobemarkers", stored, false)
				assert.Equal(t, took, time.Since(start))
				assert.Empty(t, *given)
				<-time.After(time.Second)
			})
		})
	}
}

// The update that removes the last finalizer deletes the object, so no cache will show it.
func TestLastFinalizerIsADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, going := newEffects(t), setOf("u", "7")
		now := metav1.Now()
		going.DeletionTimestamp = &now
		given, start := &warnings{}, time.Now()
		e.Await(warning.WithWarningRecorder(t.Context(), given), "sidecarsets", going, false)
		assert.Zero(t, time.Since(start))
		assert.Empty(t, *given)
	})
}

func TestOtherKindsDoNotWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	newEffects(t).Await(ctx, "clonesets", setOf("u", "7"), false)
}
