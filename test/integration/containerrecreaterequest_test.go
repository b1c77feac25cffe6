//go:build integration

package integration

import (
	"context"
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

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// podOn creates a Pod on a node without a kubelet, with one running container.
func podOn(t *testing.T, node, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	pods := env.kube.CoreV1().Pods("default")
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "app", Image: "app:1"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}) })
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", Image: "app:1", ImageID: "sha256:1", ContainerID: "containerd://" + name, Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// requestFor returns a request for a container of the Pod.
func requestFor(t *testing.T, pod string) *v1beta1.ContainerRecreateRequest {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	requests := env.kruise.AppsV1beta1().ContainerRecreateRequests("default")
	request, err := requests.Create(ctx, &v1beta1.ContainerRecreateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: pod},
		Spec: v1beta1.ContainerRecreateRequestSpec{
			PodName: pod, Containers: []v1beta1.ContainerRecreateRequestContainer{{Name: "app"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = requests.Delete(ctx, pod, metav1.DeleteOptions{}) })
	return request
}

func activeOn(node string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "crr.apps.kruise.io/node-name=" + node + ",crr.apps.kruise.io/active=true"}
}

// TestAgentsReachTheRequestsOfTheirNodeAlone uses a real token that is bound to a Pod on one of two nodes, through the aggregation
// layer and without it.
// Case containerrecreaterequest 36.
func TestAgentsReachTheRequestsOfTheirNodeAlone(t *testing.T) {
	t.Parallel()
	const node, other = "recreate-a", "recreate-b"
	agent := agentOn(t, node)
	agentOn(t, other)
	podOn(t, node, "mine")
	podOn(t, other, "theirs")
	mine := requestFor(t, "mine")
	requestFor(t, "theirs")
	assert.Equal(t, node, mine.Labels["crr.apps.kruise.io/node-name"])
	for way, config := range map[string]*rest.Config{"through": agent, "past": past(agent)} {
		t.Run(way, func(t *testing.T) {
			client, err := versioned.NewForConfig(config)
			require.NoError(t, err)
			requests := client.AppsV1beta1().ContainerRecreateRequests("default")
			everywhere := client.AppsV1beta1().ContainerRecreateRequests(metav1.NamespaceAll)
			reportsAndNoMore(t, requests, everywhere, node)
			for name, refused := range refusals(t, requests, everywhere, other) {
				assert.True(t, apierrors.IsForbidden(refused), "%s: %v", name, refused)
			}
		})
	}
}

// reportsAndNoMore checks that an agent can report, and can do nothing else.
func reportsAndNoMore(t *testing.T, requests, everywhere typed.ContainerRecreateRequestInterface, node string) {
	t.Helper()
	list, err := everywhere.List(t.Context(), activeOn(node))
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	watched := activeOn(node)
	watched.ResourceVersion = list.ResourceVersion
	watcher, err := everywhere.Watch(t.Context(), watched)
	require.NoError(t, err)
	defer watcher.Stop()
	report := list.Items[0]
	report.Status.Phase, report.Status.Message = v1beta1.ContainerRecreateRequestPending, report.ResourceVersion
	report.Labels["mine"], report.Annotations = "changed", map[string]string{"mine": "changed"}
	updated, err := requests.UpdateStatus(t.Context(), &report, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1beta1.ContainerRecreateRequestPending, updated.Status.Phase)
	event, open := <-watcher.ResultChan()
	require.True(t, open)
	require.IsType(t, updated, event.Object)
	assert.Equal(t, updated.ResourceVersion, event.Object.(*v1beta1.ContainerRecreateRequest).ResourceVersion)
	patched, err := requests.Patch(t.Context(), report.Name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"mine":"changed"}},"status":{"message":"patched"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	assert.Equal(t, "patched", patched.Status.Message)
	assert.NotContains(t, patched.Labels, "mine", "a write of the status writes the status alone")
	assert.NotContains(t, patched.Annotations, "mine")
}

func refusals(t *testing.T, requests, everywhere typed.ContainerRecreateRequestInterface, other string) map[string]error {
	t.Helper()
	errs := map[string]error{}
	note := func(name string, err error) { errs[name] = err }
	patch := func(name, body string, subresources ...string) error {
		_, err := requests.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}, subresources...)
		return err
	}
	_, err := requests.Get(t.Context(), "mine", metav1.GetOptions{})
	note("get: nobody can tell whose it is", err)
	_, err = requests.Get(t.Context(), "theirs", metav1.GetOptions{})
	note("get another node's", err)
	_, err = everywhere.List(t.Context(), metav1.ListOptions{})
	note("list all", err)
	_, err = everywhere.List(t.Context(), metav1.ListOptions{LabelSelector: "crr.apps.kruise.io/active=true"})
	note("list all that are active", err)
	_, err = everywhere.List(t.Context(), activeOn(other))
	note("list another node's", err)
	_, err = everywhere.Watch(t.Context(), activeOn(other))
	note("watch another node's", err)
	_, err = everywhere.Watch(t.Context(), metav1.ListOptions{})
	note("watch all", err)
	note("report another node's", patch("theirs", `{"status":{"phase":"Completed"}}`, "status"))
	theirs, err := env.kruise.AppsV1beta1().ContainerRecreateRequests("default").Get(t.Context(), "theirs", metav1.GetOptions{})
	require.NoError(t, err)
	theirs.Labels["crr.apps.kruise.io/node-name"] = "recreate-a"
	_, err = requests.UpdateStatus(t.Context(), theirs, metav1.UpdateOptions{})
	note("report another node's as its own", err)
	note("change a label of its own", patch("mine", `{"metadata":{"labels":{"crr.apps.kruise.io/active":null}}}`))
	note("change a label of another node's", patch("theirs", `{"metadata":{"labels":{"crr.apps.kruise.io/node-name":"recreate-a"}}}`))
	note("change the spec of its own", patch("mine", `{"spec":{"podName":"theirs"}}`))
	note("delete its own", requests.Delete(t.Context(), "mine", metav1.DeleteOptions{}))
	note("delete many", requests.DeleteCollection(t.Context(), metav1.DeleteOptions{}, activeOn("recreate-a")))
	_, err = requests.Create(t.Context(), &v1beta1.ContainerRecreateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "new"},
		Spec:       v1beta1.ContainerRecreateRequestSpec{PodName: "mine", Containers: []v1beta1.ContainerRecreateRequestContainer{{Name: "app"}}},
	}, metav1.CreateOptions{})
	note("create one", err)
	return errs
}

// The test removes the label. For the watch with the label selector, this is a deletion.
// Case containerrecreaterequest 35.
func TestCompletedRequestLeavesTheWatchOfItsAgent(t *testing.T) {
	t.Parallel()
	const node = "recreate-c"
	agent, err := versioned.NewForConfig(agentOn(t, node))
	require.NoError(t, err)
	podOn(t, node, "leaves")
	everywhere := agent.AppsV1beta1().ContainerRecreateRequests(metav1.NamespaceAll)
	list, err := everywhere.List(t.Context(), activeOn(node))
	require.NoError(t, err)
	options := activeOn(node)
	options.ResourceVersion = list.ResourceVersion
	watcher, err := everywhere.Watch(t.Context(), options)
	require.NoError(t, err)
	defer watcher.Stop()
	next := func(want watch.EventType) {
		t.Helper()
		select {
		case event := <-watcher.ResultChan():
			assert.Equal(t, want, event.Type)
		case <-time.After(30 * time.Second):
			require.Fail(t, "no event", "%s", want)
		}
	}
	requestFor(t, "leaves")
	next(watch.Added)
	requests := env.kruise.AppsV1beta1().ContainerRecreateRequests("default")
	label := []byte(`{"metadata":{"labels":{"crr.apps.kruise.io/active":null}}}`)
	_, err = requests.Patch(t.Context(), "leaves", types.MergePatchType, label, metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err), "not before it has ended: %v", err)
	_, err = requests.Patch(t.Context(), "leaves", types.MergePatchType,
		[]byte(`{"status":{"phase":"Completed","completionTime":"2026-01-01T00:00:00Z"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	next(watch.Modified)
	_, err = requests.Patch(t.Context(), "leaves", types.MergePatchType, label, metav1.PatchOptions{})
	require.NoError(t, err)
	next(watch.Deleted)
}
