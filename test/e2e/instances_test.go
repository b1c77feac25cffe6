//go:build e2e

package e2e

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	remote "k8s.io/cri-client/pkg"

	"kruise.io/kruise/hack/localcluster"
)

// containerd is the scheme of the container IDs in a Pod's status.
const containerd = "containerd://"

// instances are the instances of one container, by ID: those that ever ran, and those that run now. An instance that was created
// but never started is in neither list. A kubelet or runtime that dies between creating and starting a container leaves such an
// instance behind, and that instance raises the restart count. Therefore the restart count does not say how often a container
// was stopped.
type instances struct{ ran, running []string }

// instances combines what the versions of the Pod show with what the runtime of its node has.
func (e *env) instances(versions []*corev1.Pod, container string) instances {
	e.t.Helper()
	var all instances
	for _, pod := range versions {
		all.ran = append(all.ran, ranByStatus(containerStatus(e.t, pod, container))...)
	}
	for _, status := range runtimeInstances(e.t, versions[0], container) {
		if status.StartedAt > 0 {
			all.ran = append(all.ran, containerd+status.Id)
		}
		if status.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			all.running = append(all.running, containerd+status.Id)
		}
	}
	slices.Sort(all.ran)
	all.ran = slices.Compact(all.ran)
	return all
}

// ranByStatus returns the instances that run or have run, according to a container's status.
func ranByStatus(status *corev1.ContainerStatus) (ids []string) {
	if status.State.Running != nil {
		ids = append(ids, status.ContainerID)
	}
	for _, ended := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
		if ended != nil && ended.StartedAt.Unix() > 0 { // The kubelet writes 1970 for an instance that never started.
			ids = append(ids, ended.ContainerID)
		}
	}
	return ids
}

// runtimeInstances lists the container's instances in the containerd of the Pod's node, through the socket in that node's mount
// namespace.
func runtimeInstances(t *testing.T, pod *corev1.Pod, container string) (list []*runtimeapi.ContainerStatus) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cluster, err := localcluster.New(localcluster.MainConfig(root))
	require.NoError(t, err)
	pid, err := cluster.ComponentPID(localcluster.ContainerdComponent(nodeOf(t, pod)))
	require.NoError(t, err)
	ctx, endpoint := t.Context(), sprintf("unix:///proc/%d/root/run/containerd/containerd.sock", pid)
	runtime, err := remote.NewRemoteRuntimeService(ctx, endpoint, 10*time.Second, nil, false)
	require.NoError(t, err)
	defer func() { assert.NoError(t, runtime.Close(context.WithoutCancel(ctx))) }()
	containers, err := runtime.ListContainers(ctx, &runtimeapi.ContainerFilter{LabelSelector: map[string]string{
		"io.kubernetes.pod.uid": string(pod.UID), "io.kubernetes.container.name": container,
	}})
	require.NoError(t, err)
	require.NotEmpty(t, containers, "the runtime has the container %s", container)
	for _, found := range containers {
		response, err := runtime.ContainerStatus(ctx, found.Id, false)
		if err != nil && found.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
			continue // The kubelet has removed it since the list.
		}
		require.NoError(t, err)
		list = append(list, response.Status)
	}
	return list
}

// stopsByAgent counts the events in which agents report that they stop a container for a request.
func (e *env) stopsByAgent(ctx context.Context, request, container string) (count int32, err error) {
	list, err := e.core.CoreV1().Events(e.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=p,reason=Killing"})
	if err != nil {
		return 0, err
	}
	for _, event := range list.Items {
		if event.Message == sprintf("Stopping container %s by ContainerRecreateRequest %s", container, request) {
			count += max(event.Count, 1)
		}
	}
	return count, nil
}
