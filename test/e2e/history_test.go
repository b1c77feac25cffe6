//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// seenPod is a version of a Pod and the time when it was seen.
type seenPod struct {
	corev1.Pod
	at time.Time
}

// watchPods records every version of the namespace's Pods from now on. The returned function waits until the watch has shown the Pods as
// they are, stops the watch and returns the versions.
func (e *env) watchPods() func() []seenPod {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.t.Context())
	pods := e.core.CoreV1().Pods(e.namespace)
	watcher, err := pods.Watch(ctx, metav1.ListOptions{})
	require.NoError(e.t, err)
	var lock sync.Mutex
	var seen []seenPod
	newest := map[types.UID]string{} // The versions of the Pods that exist.
	var group sync.WaitGroup
	group.Go(func() {
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			lock.Lock()
			seen = append(seen, seenPod{*pod, time.Now()})
			newest[pod.UID] = pod.ResourceVersion
			if event.Type == watch.Deleted {
				delete(newest, pod.UID)
			}
			lock.Unlock()
		}
	})
	return func() []seenPod {
		e.eventually("the watch shows the Pods as they are", func(c *require.Assertions, ctx context.Context) {
			list, err := pods.List(ctx, metav1.ListOptions{})
			c.NoError(err)
			versions := map[types.UID]string{}
			for i := range list.Items {
				versions[list.Items[i].UID] = list.Items[i].ResourceVersion
			}
			lock.Lock()
			defer lock.Unlock()
			c.Equal(versions, newest)
		})
		watcher.Stop()
		cancel()
		group.Wait()
		return seen
	}
}

// controllerArgs restarts the controller with further arguments. The returned function restores the old arguments.
func (e *env) controllerArgs(args ...string) (restore func()) {
	e.t.Helper()
	const deployment = "deployment/kruise-controller-manager"
	before := e.kubectl("-n", "kruise-system", "get", deployment, "-o", "jsonpath={.spec.template.spec.containers[0].args}")
	write := func(args []string) {
		patch, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": args}})
		require.NoError(e.t, err)
		e.kubectl("-n", "kruise-system", "patch", deployment, "--type=json", "-p", string(patch))
		e.kubectl("-n", "kruise-system", "rollout", "status", deployment, "--timeout=3m")
	}
	var old []string
	require.NoError(e.t, json.Unmarshal([]byte(before), &old))
	write(append(append([]string{}, old...), args...))
	return func() { write(old) }
}

// replaced replaces old, new pairs in the text.
func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}
