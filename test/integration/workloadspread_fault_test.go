//go:build integration && fault

package integration

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/workloadspread"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/spread"
)

// subsetCounts follows the active Pods of the subsets.
type subsetCounts struct {
	lock   sync.Mutex
	places map[types.UID]string
	now    map[string]int
	most   map[string]int
}

func (c *subsetCounts) see(event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if place, known := c.places[pod.UID]; known {
		c.now[place]--
		delete(c.places, pod.UID)
	}
	if event.Type == watch.Deleted || !podstate.Active(pod) {
		return
	}
	matched, _ := spread.MatchedOf(pod)
	c.places[pod.UID] = matched.Subset
	c.now[matched.Subset]++
	c.most[matched.Subset] = max(c.most[matched.Subset], c.now[matched.Subset])
}

func (c *subsetCounts) get(subset string) (now, most int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.now[subset], c.most[subset]
}

// TestSubsetsKeepTheirBoundsUnderLoad creates 2,000 Pods of a CloneSet with 64 clients through two apiservers. One of them is killed
// meanwhile. No controller of CloneSets runs, so the clients create all Pods, and delete them in the order of their costs as that
// controller does. A watcher never sees a subset above its bound.
// Case workloadspread 8.
func TestSubsetsKeepTheirBoundsUnderLoad(t *testing.T) {
	const creators, replicas, few, some = 64, 2000, 100, 600
	servers, _ := twoServers(t, patient...)
	protected(t)
	b := &budgeted{t: t, namespace: newNamespace(t), kube: env.kube}
	owner := newCloneSet("web")
	owner.Spec.Replicas = new(int32(replicas))
	sets := env.kruise.AppsV1beta1().CloneSets(b.namespace)
	owner, err := sets.Create(t.Context(), owner, metav1.CreateOptions{})
	require.NoError(t, err)
	spreads := env.kruise.AppsV1beta1().WorkloadSpreads(b.namespace)
	_, err = spreads.Create(t.Context(), &v1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1beta1.WorkloadSpreadSpec{
		TargetRef: &v1beta1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web"},
		Subsets: []v1beta1.WorkloadSpreadSubset{
			{Name: "few", MaxReplicas: new(intstr.FromString("5%"))}, {Name: "some", MaxReplicas: new(intstr.FromString("30%"))}, {Name: "rest"},
		},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	runController(t, b.namespace, func(deps controller.Deps) (*reconcile.Controller, error) {
		return workloadspread.New(deps, workloadspread.Options{Namespace: ownNamespace})
	})
	seen := &subsetCounts{places: map[types.UID]string{}, now: map[string]int{}, most: map[string]int{}}
	pods := b.kube.CoreV1().Pods(b.namespace)
	none, err := pods.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	events, err := watchtools.NewRetryWatcherWithContext(t.Context(), none.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, options)
		},
	})
	require.NoError(t, err)
	go func() {
		for event := range events.ResultChan() {
			seen.see(event)
		}
	}()
	controlled := func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1beta1.SchemeGroupVersion.WithKind("CloneSet"))}
	}
	eventually(t, func() bool { // kube-apiserver and a server know the WorkloadSpread. A dry run would get no subset.
		pod, err := pods.Create(t.Context(), newWebPod(controlled), metav1.CreateOptions{})
		if err != nil {
			return false
		}
		require.NoError(t, pods.Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)))
		matched, _ := spread.MatchedOf(pod)
		return matched.Subset == "few"
	})

	var created atomic.Int64
	var clients sync.WaitGroup
	killed := make(chan struct{})
	began := time.Now()
	for range creators {
		config := rest.CopyConfig(env.config)
		config.QPS = -1
		kube, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		clients.Go(func() {
			for n := created.Add(1); n <= replicas; n = created.Add(1) {
				if n == replicas/4 {
					servers[0].kill()
					close(killed)
				}
				_, err := kube.CoreV1().Pods(b.namespace).Create(t.Context(), newWebPod(controlled), metav1.CreateOptions{})
				assert.NoError(t, err)
			}
		})
	}
	<-killed
	<-time.After(2 * time.Second)
	require.NoError(t, servers[0].start(t.Context()))
	clients.Wait()
	outside, _ := seen.get("")
	t.Logf("%d Pods in %s, %d of them without a subset while a server was down", replicas, time.Since(began).Round(time.Millisecond), outside)

	// The slots of Pods whose creation was never answered expire. Pods that take their place go to the first subsets.
	eventually(t, func() bool {
		inFew, _ := seen.get("few")
		inSome, _ := seen.get("some")
		without, _ := seen.get("")
		lacking := few - inFew + some - inSome
		if lacking+without == 0 {
			return true
		}
		t.Logf("%d Pods in the first subset, %d in the second, %d in none", inFew, inSome, without)
		b.recreate(controlled, lacking, replicas)
		pause(t.Context(), 10*time.Second)
		return false
	})

	// A scale-in to half takes the Pods above the bounds first, and then those of the last subset.
	_, err = sets.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":1000}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	var all []corev1.Pod
	cost := func(pod *corev1.Pod) int {
		number, err := strconv.Atoi(pod.Annotations[pub.PodDeletionCostKey])
		assert.NoError(t, err)
		return number
	}
	assert.Eventually(t, func() bool {
		list, err := pods.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		all = list.Items
		surplus := map[string]int{}
		for i := range all {
			surplus[all[i].Annotations[pub.PodDeletionCostKey]]++
		}
		return surplus[""] == 0 && surplus["-100"] == 50 && surplus["-200"] == 300
	}, time.Minute, time.Second, "50 Pods of the first subset and 300 of the second are above their bounds now")
	slices.SortStableFunc(all, func(a, b corev1.Pod) int { return cmp.Compare(cost(&a), cost(&b)) })
	for i := range all[:len(all)-1000] {
		require.NoError(t, pods.Delete(t.Context(), all[i].Name, *metav1.NewDeleteOptions(0)))
	}
	assert.Eventually(t, func() bool {
		inFew, _ := seen.get("few")
		inSome, _ := seen.get("some")
		inRest, _ := seen.get("rest")
		return inFew == 50 && inSome == 300 && inRest == 650
	}, time.Minute, 100*time.Millisecond)
	_, fewest := seen.get("few")
	_, somest := seen.get("some")
	assert.LessOrEqual(t, fewest, few)
	assert.LessOrEqual(t, somest, some)
}

// recreate deletes the Pods without a subset and some Pods of the last subset, and creates others, until the workload has all its Pods.
func (b *budgeted) recreate(controlled func(*corev1.Pod), moved, replicas int) {
	b.t.Helper()
	pods := b.kube.CoreV1().Pods(b.namespace)
	list, err := pods.List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	left := len(list.Items)
	for i := range list.Items {
		matched, _ := spread.MatchedOf(&list.Items[i])
		if matched.Subset == "rest" {
			moved--
		}
		if matched.Subset == "" || matched.Subset == "rest" && moved >= 0 {
			require.NoError(b.t, pods.Delete(b.t.Context(), list.Items[i].Name, *metav1.NewDeleteOptions(0)))
			left--
		}
	}
	for range replicas - left {
		_, err := pods.Create(b.t.Context(), newWebPod(controlled), metav1.CreateOptions{})
		require.NoError(b.t, err)
	}
}
