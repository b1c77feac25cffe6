package containerrecreaterequest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// serverOwned refuses values that only the server may set, because they come from the Pod.
func serverOwned(containers []apps.ContainerRecreateRequestContainer, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		if container := &containers[i]; container.PreStop != nil || len(container.Ports) > 0 || container.StatusContext != nil {
			// Programs search for this text, so its spelling is part of the contract.
			errs = append(errs, field.Forbidden(path.Index(i),
				"preStop, ports, statusContext in container are ready-only fields; set only the name"))
		}
	}
	return errs
}

// fillContainers copies from the Pod what the agent needs to stop each container, and records the current instance of
// each. The agent stops an instance only if it is the recorded one, so a container that has restarted by itself in
// the meantime is not stopped a second time. On errors, some containers may be filled already; the caller then
// refuses the whole request.
func fillContainers(containers []apps.ContainerRecreateRequestContainer, pod *corev1.Pod, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		container, at := &containers[i], path.Index(i).Child("name")
		spec := containerOf(pod, container.Name)
		if spec == nil {
			errs = append(errs, field.Invalid(at, container.Name, fmt.Sprintf("container %s not found in Pod", container.Name)))
			continue
		}
		status, problem := statusOf(pod, container.Name, at)
		if problem != nil {
			errs = append(errs, problem)
			continue
		}
		// Values of the first round are dropped, so a reinvocation records the present state of the Pod.
		container.PreStop, container.Ports = nil, nil
		if spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil {
			container.PreStop = spec.Lifecycle.PreStop.DeepCopy()
			// An HTTP hook can name its port, so the agent needs the ports of the container to resolve the name.
			if container.PreStop.HTTPGet != nil {
				container.Ports = append([]corev1.ContainerPort(nil), spec.Ports...)
			}
		}
		container.StatusContext = &apps.ContainerRecreateRequestContainerContext{
			ContainerID: status.ContainerID, RestartCount: status.RestartCount,
		}
	}
	return errs
}

// containerOf returns the container of the Pod's spec, or nil. It finds init containers too, so that the error for
// one of them comes from statusOf and says why it is refused.
func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// statusOf returns the status of a container, or the problem that prevents its restart. It ignores init containers,
// because they cannot be restarted. A container without an ID has no instance that an agent could stop.
func statusOf(pod *corev1.Pod, name string, at *field.Path) (*corev1.ContainerStatus, *field.Error) {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		switch {
		case status.Name != name:
		case status.ContainerID == "":
			return nil, field.Invalid(at, name, fmt.Sprintf(
				"no containerID in %s containerStatus, maybe the container has not been initialized; wait until it runs", name))
		default:
			return status, nil
		}
	}
	return nil, field.Invalid(at, name, fmt.Sprintf(
		"not found %s containerStatus in Pod Status; init and ephemeral containers cannot be restarted", name))
}
