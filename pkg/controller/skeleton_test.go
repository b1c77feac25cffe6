package controller_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/controller"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/reconcile"
)

var key = types.NamespacedName{Namespace: "ns", Name: "a"}

func configMap(uid types.UID) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: uid}}
}

func newDeps(client *fake.Clientset) (controller.Deps, *controller.Caches) {
	caches := controller.NewCaches(client, kruisefake.NewClientset(), "", 0)
	return caches.For(controller.Deps{
		Kube: client, Clock: clock.RealClock{}, ExpectationTimeout: time.Minute, Options: reconcile.Options{Workers: 1},
	}), caches
}

// run runs a controller and its informers until the test ends.
func run(t *testing.T, caches *controller.Caches, needs []controller.Need, c *reconcile.Controller) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	caches.Start(ctx, needs)
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		caches.Wait()
	}
}

// A controller that read an empty cache at a cold start would make wrong decisions.
func TestReadCachesAreSyncedWithoutWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(configMap("1"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		deps, caches := newDeps(client)
		nodes := deps.KubeInformers.Core().V1().Nodes().Lister()
		var seen []error
		c, err := controller.For(deps, "test", deps.KubeInformers.Core().V1().ConfigMaps(),
			func(context.Context, *corev1.ConfigMap) (reconcile.Result, error) {
				_, err := nodes.Get("n")
				seen = append(seen, err)
				return reconcile.Result{}, nil
			}).Build()
		require.NoError(t, err)
		needs := deps.Needs()
		late := slices.IndexFunc(needs, func(need controller.Need) bool { return need.Kind.Kind == "Node" })
		stop := run(t, caches, slices.Delete(slices.Clone(needs), late, late+1), c)
		<-time.After(time.Minute)
		assert.Empty(t, seen)
		ctx, cancel := context.WithCancel(t.Context())
		caches.Start(ctx, needs)
		<-time.After(time.Minute)
		cancel()
		stop()
		assert.Equal(t, []error{nil}, seen, "the node is there at the first reconcile")
	})
}

// fixed is a controller of ConfigMaps with a cache that the test fills.
type fixed struct {
	*controller.Of[*corev1.ConfigMap]
	configMaps, secrets cache.Indexer
	// during is called by each reconcile.
	during            func()
	reconciled        []types.UID
	absent, forgotten int
}

func newFixed(t *testing.T) *fixed {
	t.Helper()
	deps, _ := newDeps(fake.NewClientset())
	core := deps.KubeInformers.Core().V1()
	f := &fixed{configMaps: core.ConfigMaps().Informer().GetIndexer(), during: func() {}}
	f.Of = controller.For(deps, "test", core.ConfigMaps(), func(_ context.Context, object *corev1.ConfigMap) (reconcile.Result, error) {
		f.reconciled = append(f.reconciled, object.UID)
		f.during()
		return reconcile.Result{}, nil
	})
	f.secrets = f.Owns(secretResource, core.Secrets())
	f.When(func(object *corev1.ConfigMap) bool { return object.Labels["ignore"] == "" })
	f.Absent(func(context.Context, types.NamespacedName) (reconcile.Result, error) {
		f.absent++
		return reconcile.Result{}, nil
	})
	f.Forget(func(*corev1.ConfigMap) { f.forgotten++ })
	return f
}

func (f *fixed) pass(t *testing.T) reconcile.Result {
	t.Helper()
	c, err := f.Build()
	require.NoError(t, err)
	result, err := c.Reconcile(t.Context(), key)
	require.NoError(t, err)
	return result
}

func TestReconcileWaitsForEarlierWrites(t *testing.T) {
	f := newFixed(t)
	require.NoError(t, f.configMaps.Add(configMap("1")))
	require.NoError(t, f.secrets.Replace(nil, "6"))
	f.Guard().Wrote("1", secretResource.GroupResource(), "7")
	result := f.pass(t)
	assert.Positive(t, result.RequeueAfter)
	assert.True(t, result.KeepFailures, "waiting is no success")
	assert.Empty(t, f.reconciled)
	f.secrets.Bookmark("7")
	assert.Zero(t, f.pass(t))
	assert.Equal(t, []types.UID{"1"}, f.reconciled)
}

func TestKeysWithoutAnObject(t *testing.T) {
	f := newFixed(t)
	f.pass(t)
	assert.Equal(t, 1, f.absent)
	assert.Empty(t, f.reconciled)
	ignored := configMap("1")
	ignored.Labels = map[string]string{"ignore": "1"}
	require.NoError(t, f.configMaps.Add(ignored))
	f.pass(t)
	assert.Equal(t, 1, f.absent)
	assert.Empty(t, f.reconciled, "there is nothing to do for it")
}

// The handler of the deletion can run before the reconcile keeps something for the object.
func TestNothingIsKeptForAnObjectThatIsDeletedDuringItsReconcile(t *testing.T) {
	for name, tc := range map[string]struct {
		now  []any
		kept bool
	}{
		"it is there":     {[]any{configMap("1")}, true},
		"it was deleted":  {nil, false},
		"it was replaced": {[]any{configMap("2")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixed(t)
			require.NoError(t, f.configMaps.Add(configMap("1")))
			require.NoError(t, f.secrets.Replace(nil, "6"))
			f.during = func() {
				require.NoError(t, f.configMaps.Replace(tc.now, ""))
				f.Guard().Wrote("1", secretResource.GroupResource(), "7")
			}
			f.pass(t)
			assert.Equal(t, tc.kept, f.forgotten == 0)
			assert.Equal(t, tc.kept, f.Guard().Wait(t.Context(), configMap("1")) > 0)
		})
	}
}

// What is kept for an object is dropped with the object, even if another object of the same name already exists.
func TestKeptDataIsDroppedWithTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(configMap("1"))
		deps, caches := newDeps(client)
		var forgotten []types.UID
		core := deps.KubeInformers.Core().V1()
		of := controller.For(deps, "test", core.ConfigMaps(), func(context.Context, *corev1.ConfigMap) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		})
		of.Forget(func(object *corev1.ConfigMap) { forgotten = append(forgotten, object.UID) })
		of.Guards(secretResource, core.Secrets())
		c, err := of.Build()
		require.NoError(t, err)
		stop := run(t, caches, deps.Needs(), c)
		<-time.After(time.Second)
		for _, uid := range []types.UID{"1", "2"} {
			of.Guard().Wrote(uid, secretResource.GroupResource(), "9999")
		}
		_, err = client.CoreV1().ConfigMaps("ns").Update(t.Context(), configMap("2"), metav1.UpdateOptions{})
		require.NoError(t, err)
		<-time.After(time.Second)
		synctest.Wait()
		assert.Equal(t, []types.UID{"1"}, forgotten)
		assert.Zero(t, of.Guard().Wait(t.Context(), configMap("1")))
		require.NoError(t, client.CoreV1().ConfigMaps("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}))
		<-time.After(time.Second)
		synctest.Wait()
		assert.Equal(t, []types.UID{"1", "2"}, forgotten)
		assert.Zero(t, of.Guard().Wait(t.Context(), configMap("2")))
		stop()
	})
}

func TestGuardThatCannotWorkIsRefused(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.AtomicFIFO, false)
	_, err := newFixed(t).Build()
	assert.ErrorContains(t, err, "remove KUBE_FEATURE_AtomicFIFO=false from the environment")
	deps, _ := newDeps(fake.NewClientset())
	_, err = controller.For(deps, "test", deps.KubeInformers.Core().V1().ConfigMaps(),
		func(context.Context, *corev1.ConfigMap) (reconcile.Result, error) { return reconcile.Result{}, nil }).Build()
	assert.NoError(t, err, "without a guard it does not matter")
}
