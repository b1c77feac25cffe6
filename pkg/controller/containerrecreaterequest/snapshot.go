package containerrecreaterequest

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// reasonBackOff is the kubelet's reason for a container that it does not restart yet.
const reasonBackOff = "CrashLoopBackOff"

// snapshot returns what the Pod reports about the containers that replaced the old ones. The last entry of a container is kept until
// there is a new one: between two instances there is nothing to report and no reason to write. A container that the Pod does not
// report has no entry.
func snapshot(request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod) []v1beta1.ContainerRecreateRequestContainerStatus {
	stored := map[string]v1beta1.ContainerRecreateRequestContainerStatus{}
	for _, status := range request.Status.ContainerStatusSnapshot {
		stored[status.Name] = status
	}
	var statuses []v1beta1.ContainerRecreateRequestContainerStatus
	for i := range request.Spec.Containers {
		container := &request.Spec.Containers[i]
		status := statusOf(pod, container.Name)
		// An instance that only waits is not reported: it is not known yet whether it starts.
		if status != nil && status.State.Running != nil && replaced(container.StatusContext, status) {
			statuses = append(statuses, v1beta1.ContainerRecreateRequestContainerStatus{
				Name: status.Name, Ready: status.Ready, RestartCount: status.RestartCount, ContainerID: status.ContainerID,
			})
		} else if before, found := stored[container.Name]; found {
			statuses = append(statuses, before)
		}
	}
	return statuses
}

// replaced reports whether another instance runs than the one that the request was created for. It does not compare times: they
// have whole seconds, and the request may name an instance that had already ended.
func replaced(context *v1beta1.ContainerRecreateRequestContainerContext, status *corev1.ContainerStatus) bool {
	return context == nil || status.ContainerID != context.ContainerID || status.RestartCount > context.RestartCount
}

// statusOf returns the status of a container, or nil if the kubelet has not reported it. Init containers are not looked at.
func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// backOff returns a message about the first container that the kubelet does not restart yet, or "". The message says until when, if
// that is known. It tells users that the kubelet delays the start, and not the agent.
func backOff(request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod) string {
	for i := range request.Spec.Containers {
		status := statusOf(pod, request.Spec.Containers[i].Name)
		if status == nil || status.State.Waiting == nil || status.State.Waiting.Reason != reasonBackOff {
			continue
		}
		message := fmt.Sprintf("waiting for the kubelet to start container %s again: it was restarted too often", status.Name)
		if until := backOffEnd(status); !until.IsZero() {
			message += ", and is backed off until " + until.UTC().Format(time.RFC3339)
		}
		return message
	}
	return ""
}

// backOffEnd returns when the kubelet restarts the container, or zero if that is unknown. The kubelet counts from the end of the last
// instance. Its message has the form "back-off 10s restarting failed container=…". A message of another form counts as unknown.
func backOffEnd(status *corev1.ContainerStatus) time.Time {
	last := status.LastTerminationState.Terminated
	text, found := strings.CutPrefix(status.State.Waiting.Message, "back-off ")
	if last == nil || !found {
		return time.Time{}
	}
	text, _, _ = strings.Cut(text, " ")
	period, err := time.ParseDuration(text)
	if err != nil {
		return time.Time{}
	}
	return last.FinishedAt.Add(period)
}
