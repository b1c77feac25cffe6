//go:build e2e

package e2e

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func alphaRequest() *v1alpha1.ContainerRecreateRequest {
	return &v1alpha1.ContainerRecreateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Spec:       v1alpha1.ContainerRecreateRequestSpec{PodName: "p", Containers: []v1alpha1.ContainerRecreateRequestContainer{{Name: "app"}}},
	}
}

// restartLoad restarts the container of each Pod the given number of times, the Pods in parallel. On every second Pod, all
// requests wait in the queue from the start and force their restart. On the other Pods, each request is created when the
// previous one has ended. Every request succeeds, and each restarts the container exactly once.
func restartLoad(t *testing.T, e *env, pods, each int) {
	e.quickRestarts()
	e.apply(manifest("web", "replicas: 3", sprintf("replicas: %d", pods), "cpu: 10m", "cpu: 1m"))
	e.ready("web", int32(pods))
	messages := e.messages()
	began := time.Now()
	var group sync.WaitGroup
	for i, pod := range e.pods("web") {
		group.Go(func() {
			for j := range each {
				name := sprintf("%s-%d", pod.Name, j)
				if !assert.NoError(t, e.restart(t.Context(), name, pod.Name, i%2 == 0)) {
					return
				}
				if i%2 == 1 && !assert.NoError(t, e.waitFor(t.Context(), name)) {
					return
				}
			}
		})
	}
	group.Wait()
	for _, pod := range e.pods("web") {
		for j := range each {
			require.NoError(t, e.waitFor(t.Context(), sprintf("%s-%d", pod.Name, j)))
		}
	}
	list, err := e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, pods*each)
	for _, request := range list.Items {
		assert.Empty(t, request.Status.Message, request.Name)
		require.Len(t, request.Status.ContainerRecreateStates, 1)
		assert.Equal(t, v1beta1.ContainerRecreateRequestSucceeded, request.Status.ContainerRecreateStates[0].Phase, request.Name)
	}
	for _, pod := range e.pods("web") {
		assert.EqualValues(t, each, pod.Status.ContainerStatuses[0].RestartCount, "%s: one restart for each request", pod.Name)
		assert.Equal(t, corev1.PodRunning, pod.Status.Phase)
	}
	backedOff := 0
	for message := range messages() {
		if strings.HasPrefix(message, "waiting for the kubelet to start container main again") {
			backedOff++
			assert.Contains(t, message, "backed off until ", message)
		}
	}
	t.Logf("%d requests on %d Pods took %v; the kubelet's back-off was told in %d messages", pods*each, pods, time.Since(began).Round(time.Second), backedOff)
}

func (e *env) restart(ctx context.Context, name, pod string, force bool) error {
	_, err := e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace).Create(ctx, &v1beta1.ContainerRecreateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1beta1.ContainerRecreateRequestSpec{
			PodName: pod, Containers: []v1beta1.ContainerRecreateRequestContainer{{Name: "main"}},
			Strategy: &v1beta1.ContainerRecreateRequestStrategy{ForceRecreate: force},
		},
	}, metav1.CreateOptions{})
	return err
}

// waitFor waits for a request to end, with a separate watch.
func (e *env) waitFor(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	requests := e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace)
	for {
		request, err := requests.Get(ctx, name, metav1.GetOptions{})
		if err != nil || request.Status.CompletionTime != nil {
			return err
		}
		if err := e.nextVersion(ctx, request); err != nil {
			return err
		}
	}
}

// nextVersion returns when the request has changed or its watch has ended.
func (e *env) nextVersion(ctx context.Context, request *v1beta1.ContainerRecreateRequest) error {
	watcher, err := e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + request.Name, ResourceVersion: request.ResourceVersion,
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-watcher.ResultChan():
		return nil
	}
}

// messages collects the status messages that requests get until the returned function is called.
func (e *env) messages() func() map[string]bool {
	e.t.Helper()
	watcher, err := e.kruise.AppsV1beta1().ContainerRecreateRequests(e.namespace).Watch(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	seen := map[string]bool{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			if request, ok := event.Object.(*v1beta1.ContainerRecreateRequest); ok && event.Type == watch.Modified {
				seen[request.Status.Message] = true
			}
		}
	}()
	return func() map[string]bool {
		watcher.Stop()
		<-done
		return seen
	}
}
