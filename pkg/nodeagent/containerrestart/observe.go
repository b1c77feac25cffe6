package containerrestart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/nodeagent/kubelet"
)

// Runtime lists the CRI calls that this package makes. Tests replace it.
type Runtime interface {
	ListContainers(ctx context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error)
	ContainerStatus(ctx context.Context, containerID string, verbose bool) (*runtimeapi.ContainerStatusResponse, error)
	ExecSync(ctx context.Context, containerID string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error)
	StopContainer(ctx context.Context, containerID string, timeout int64) error
}

// staticUIDKey is the annotation of a mirror Pod that holds the UID of its static Pod.
const staticUIDKey = "kubernetes.io/config.hash"

// instance is the newest instance of a container.
type instance struct {
	// id has the form of the Pod status, with the runtime name as prefix.
	id string
	// exited is true if the instance has ended, whatever stopped it.
	exited       bool
	restartCount int32
	startedAt    time.Time
}

// runtimeOf returns the runtime that created the containers of the request, and the runtime's name. Admission records
// the container IDs, so an error means a request that was not admitted in the usual way, or a runtime that the agent
// does not know. A retry cannot cure it, and the caller ends the request.
func (c *Controller) runtimeOf(request *v1beta1.ContainerRecreateRequest) (Runtime, string, error) {
	scheme := ""
	for i := range request.Spec.Containers {
		container := &request.Spec.Containers[i]
		if container.StatusContext == nil {
			return nil, "", fmt.Errorf("container %s has no container ID", container.Name)
		}
		its, id, found := strings.Cut(container.StatusContext.ContainerID, "://")
		switch {
		case !found || its == "" || id == "":
			return nil, "", fmt.Errorf("container ID %q of container %s does not name a runtime", container.StatusContext.ContainerID,
				container.Name)
		case scheme != "" && its != scheme:
			return nil, "", fmt.Errorf("the containers belong to two runtimes, %s and %s", scheme, its)
		}
		scheme = its
	}
	runtime := c.config.Runtime(scheme)
	if runtime == nil {
		return nil, "", fmt.Errorf("no runtime named %q on node %s", scheme, c.config.Node)
	}
	return runtime, scheme, nil
}

// observe returns the newest instance of each container in the request, as the runtime reports it. A container
// without an instance is missing from the result. It asks the runtime instead of the Pod's status, which is older.
func (c *Controller) observe(
	ctx context.Context, runtime Runtime, scheme string, request *v1beta1.ContainerRecreateRequest,
) (map[string]*instance, error) {
	// The list has the states of a moment ago. ContainerStatus below is current.
	listed, err := c.containersOf(ctx, runtime, request)
	if err != nil {
		return nil, err
	}
	newest := kubelet.Newest(listed)
	instances := map[string]*instance{}
	for i := range request.Spec.Containers {
		name := request.Spec.Containers[i].Name
		if newest[name] == nil {
			continue
		}
		response, err := runtime.ContainerStatus(ctx, newest[name].GetId(), false)
		if err != nil {
			return nil, fmt.Errorf("get status of container %s: %w", newest[name].GetId(), err)
		}
		status := response.GetStatus()
		if status == nil {
			return nil, errors.New("the runtime returned no status")
		}
		instances[name] = &instance{
			id: scheme + "://" + newest[name].GetId(), exited: status.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED,
			restartCount: kubelet.RestartCount(newest[name]), startedAt: time.Unix(0, status.GetStartedAt()),
		}
	}
	return instances, nil
}

// containersOf lists the instances of the request's Pod. The API only knows the UID of a mirror Pod, but the kubelet
// labels containers with the UID of the static Pod. So for a mirror Pod, containersOf looks up the UID in the
// annotation of the mirror Pod. Any user who can create a Pod can write that annotation. So the labels of the
// containers must also match the name and namespace of the Pod.
func (c *Controller) containersOf(
	ctx context.Context, runtime Runtime, request *v1beta1.ContainerRecreateRequest,
) ([]*runtimeapi.Container, error) {
	uid := request.Labels[pub.ContainerRecreateRequestPodUIDKey]
	listed, err := kubelet.List(ctx, runtime, map[string]string{kubelet.PodUIDLabel: uid})
	// The usual case. Only a mirror Pod has no containers with its own UID.
	if err != nil || len(listed) > 0 {
		return listed, err
	}
	pod, err := c.config.Client.Pods(request.Namespace).Get(ctx, request.Spec.PodName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Pod without containers: %w", err)
	}
	static := pod.Annotations[staticUIDKey]
	if string(pod.UID) != uid || pod.Annotations[corev1.MirrorPodAnnotationKey] == "" || static == "" {
		return nil, nil
	}
	return kubelet.List(ctx, runtime, map[string]string{
		kubelet.PodUIDLabel: static, kubelet.PodNameLabel: pod.Name, kubelet.PodNamespaceLabel: pod.Namespace,
	})
}
