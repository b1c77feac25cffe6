//go:build e2e && fault

package e2e

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

const (
	// replicaRestarts is how often a replica of the apiserver is replaced.
	replicaRestarts = 20
	// countInterval is the time between two writes of the client.
	countInterval = 50 * time.Millisecond
	// longestGap is the longest time without an answer that a restart may cause. On a machine that is busy with other work, it is this
	// many times the longest one without a restart, or that of a ConfigMap during the restart.
	longestGap, busyGaps = time.Second, 4
	// quietTime is how long the client writes before the first restart.
	quietTime = 20 * time.Second
)

// TestReplicasRestartOneByOne replaces the two apiservers one after the other, 20 times, as a rolling upgrade does, while clients
// write one CloneSet and one ConfigMap 20 times a second. A watch sees every acknowledged write of the CloneSet, and no restart stops
// the answers for a second, or for four times what the busy machine needs anyway.
func TestReplicasRestartOneByOne(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, values := externalCluster(t, root)
	t.Setenv("KUBECONFIG", cluster.Kubeconfig())
	e := environment(t, cluster)
	set := externalValues(t, e, cluster, values)
	installExternal(t, e, cluster, filepath.Join(root, "artifacts", "helm", "kruise"), set)
	e.apply(manifest("counted", "replicas: 3", "replicas: 0"))

	configMaps := e.core.CoreV1().ConfigMaps(e.namespace)
	_, err = configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counted"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := &writes{e: e, last: time.Now(), seen: map[string]bool{}, patch: func(patch []byte) error {
		_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Patch(ctx, "counted", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}}
	yardstick := &writes{e: e, last: time.Now(), patch: func(patch []byte) error {
		_, err := configMaps.Patch(ctx, "counted", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}}
	w.watch(t)
	var group sync.WaitGroup
	group.Go(func() { w.run(ctx) })
	group.Go(func() { yardstick.run(ctx) })
	restarted := func() { w.restarted(); yardstick.restarted() }
	<-time.After(quietTime)
	restarted()
	pods := e.core.CoreV1().Pods(system)
	for range replicaRestarts {
		servers := e.apiservers()
		require.Len(t, servers, 2)
		oldest := servers[0]
		if servers[1].CreationTimestamp.Before(&oldest.CreationTimestamp) {
			oldest = servers[1]
		}
		require.NoError(t, pods.Delete(t.Context(), oldest.Name, metav1.DeleteOptions{}))
		e.system("wait", "pod/"+oldest.Name, "--for=delete", "--timeout=120s")
		e.system("rollout", "status", "deployment", "kruise-apiserver", "--timeout=170s")
		restarted()
	}
	stop()
	group.Wait()
	e.eventually("the watch shows every acknowledged write", func(c *require.Assertions, _ context.Context) { c.Zero(w.missed()) })
	w.report(t, yardstick.gaps[1:])
}

// writes is a client that increases the value of an annotation. A watch collects the values, if it is started.
type writes struct {
	e *env
	// patch writes the value.
	patch func(patch []byte) error
	lock  sync.Mutex
	// acknowledged are the values that were stored, seen those that the watch showed.
	acknowledged []string
	seen         map[string]bool
	failed       int
	last         time.Time
	gap          time.Duration
	// gaps are the longest times without an answer: the one before the first restart, and then one for each restart.
	gaps []time.Duration
}

// watch collects the values until the test ends, which is longer than the client writes.
func (w *writes) watch(t *testing.T) {
	t.Helper()
	ctx, sets := t.Context(), w.e.kruise.AppsV1beta1().CloneSets(w.e.namespace)
	list, err := sets.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return sets.Watch(ctx, options)
		},
	})
	require.NoError(t, err)
	go func() {
		for event := range watcher.ResultChan() {
			if set, ok := event.Object.(*v1beta1.CloneSet); ok {
				w.lock.Lock()
				w.seen[set.Annotations[changeKey]] = true
				w.lock.Unlock()
			}
		}
	}()
}

func (w *writes) run(ctx context.Context) {
	tick := time.NewTicker(countInterval)
	defer tick.Stop()
	for number := 1; ; number++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		value := strconv.Itoa(number)
		err := w.patch([]byte(sprintf(`{"metadata":{"annotations":{%q:%q}}}`, changeKey, value)))
		if ctx.Err() != nil {
			return
		}
		w.lock.Lock()
		if err != nil {
			w.failed++
		} else {
			now := time.Now()
			w.gap = max(w.gap, now.Sub(w.last))
			w.last, w.acknowledged = now, append(w.acknowledged, value)
		}
		w.lock.Unlock()
	}
}

// restarted notes the longest time without an answer since the last restart, also one that goes on.
func (w *writes) restarted() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.gaps = append(w.gaps, max(w.gap, time.Since(w.last)).Round(time.Millisecond))
	w.gap = 0
}

// report checks the times without an answer against those of another client, one for each restart.
func (w *writes) report(t *testing.T, others []time.Duration) {
	t.Helper()
	w.lock.Lock()
	defer w.lock.Unlock()
	quiet, gaps := w.gaps[0], w.gaps[1:]
	t.Logf("%d writes were acknowledged, %d failed; the longest times without an answer were %v, and %v without a restart; for a ConfigMap %v",
		len(w.acknowledged), w.failed, gaps, quiet, others)
	require.NotEmpty(t, w.acknowledged)
	for i, gap := range gaps {
		assert.Less(t, gap, max(longestGap, busyGaps*max(quiet, others[i])), "restart %d", i)
	}
}

// missed returns how many acknowledged writes the watch has not shown.
func (w *writes) missed() (missed int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, value := range w.acknowledged {
		if !w.seen[value] {
			missed++
		}
	}
	return missed
}
