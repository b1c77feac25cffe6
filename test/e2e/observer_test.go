//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// stress is an observed CloneSet with the limits that its settings allow.
type stress struct {
	name, strategy           string
	replicas                 int
	maxSurge, maxUnavailable int
}

// image starts a rollout of the image.
func (e *env) image(name, image string) {
	e.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
	_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Patch(e.t.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(e.t, err)
}

// observer follows every version of every Pod, in the order of the writes.
type observer struct {
	limits map[string]stress
	lock   sync.Mutex
	// pods holds whether each Pod serves, by app and name. Terminating Pods are left out.
	pods       map[string]map[string]bool
	most       map[string]int
	least      map[string]int
	violations []string
	events     int
	failed     error
}

func (e *env) observe(list []stress) *observer {
	e.t.Helper()
	o := &observer{limits: map[string]stress{}, pods: map[string]map[string]bool{}, most: map[string]int{}, least: map[string]int{}}
	for _, s := range list {
		o.limits[s.name], o.pods[s.name], o.least[s.name] = s, map[string]bool{}, s.replicas
	}
	pods := e.core.CoreV1().Pods(e.namespace)
	now, err := pods.List(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	for i := range now.Items {
		o.note(&now.Items[i], false)
	}
	w, err := watchtools.NewRetryWatcherWithContext(e.t.Context(), now.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, options)
		},
	})
	require.NoError(e.t, err)
	go func() {
		for event := range w.ResultChan() {
			o.see(event)
		}
	}()
	return o
}

func (o *observer) see(event watch.Event) {
	o.lock.Lock()
	defer o.lock.Unlock()
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		o.failed = fmt.Errorf("watch: %v", event.Object)
		return
	}
	o.events++
	o.note(pod, event.Type == watch.Deleted)
	o.judge(pod.Labels["app"], pod.ResourceVersion)
}

func (o *observer) note(pod *corev1.Pod, gone bool) {
	of := o.pods[pod.Labels["app"]]
	if gone || pod.DeletionTimestamp != nil {
		delete(of, pod.Name)
		return
	}
	of[pod.Name] = false
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			of[pod.Name] = true
		}
	}
}

func (o *observer) judge(app, version string) {
	s, all, serving := o.limits[app], len(o.pods[app]), 0
	for _, serves := range o.pods[app] {
		if serves {
			serving++
		}
	}
	o.most[app], o.least[app] = max(o.most[app], all), min(o.least[app], serving)
	if all > s.replicas+s.maxSurge || serving < s.replicas-s.maxUnavailable {
		o.violations = append(o.violations, sprintf("%s at %s: %d Pods, %d serve", app, version, all, serving))
	}
}

func (o *observer) report(t *testing.T) {
	t.Helper()
	o.lock.Lock()
	defer o.lock.Unlock()
	for _, name := range slices.Sorted(maps.Keys(o.limits)) {
		s := o.limits[name]
		t.Logf("%-15s %2d replicas: at most %2d Pods (%d allowed), at least %2d served (%d allowed)",
			s.name, s.replicas, o.most[s.name], s.replicas+s.maxSurge, o.least[s.name], s.replicas-s.maxUnavailable)
	}
	t.Logf("%d versions of Pods were seen", o.events)
	require.NoError(t, o.failed)
	require.NotZero(t, o.events)
	require.Empty(t, o.violations)
}
