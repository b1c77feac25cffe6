package jobsidecarterminator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// sidecar is a container that is to end after the others. Its fields point into a Pod of the cache, which must not be changed.
type sidecar struct {
	container *corev1.Container
	// status is nil until the kubelet reports the container.
	status *corev1.ContainerStatus
	// stops is true if a node agent may stop it. image replaces its image on a virtual node.
	stops bool
	image string
	// ignored is true if its exit code must not make the Pod fail.
	ignored bool
}

// ended reports whether the container has ended. A container that waits to be started again has not.
func (s *sidecar) ended() bool { return s.status != nil && s.status.State.Terminated != nil }

// literal returns the last literal value of an environment variable, as the container gets it. A value from another source is not
// evaluated. The kubelet, too, takes the last one of several variables of a name.
func literal(container *corev1.Container, name string) (value string) {
	for i := range container.Env {
		if env := &container.Env[i]; env.Name == name {
			value = env.Value
			if env.ValueFrom != nil {
				value = ""
			}
		}
	}
	return value
}

// isTrue reports whether a variable is set to "true", in upper or lower case.
func isTrue(container *corev1.Container, name string) bool {
	return strings.EqualFold(literal(container, name), "true")
}

// isSidecar reports whether a container is marked as a sidecar, for either kind of node.
func isSidecar(container *corev1.Container) bool {
	return isTrue(container, pub.TerminateSidecarEnv) || literal(container, pub.TerminateSidecarWithImageEnv) != ""
}

// concerned reports whether a Pod can have sidecars to end. It is called for every event of every Pod. With the policy Always, the
// kubelet would start each sidecar again. The function depends on the spec alone, except for the deletion.
func concerned(pod *corev1.Pod) bool {
	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || pod.DeletionTimestamp != nil {
		return false
	}
	for i := range pod.Spec.Containers {
		if isSidecar(&pod.Spec.Containers[i]) {
			return true
		}
	}
	return false
}

// statusOf returns the status of a container, or nil. Init containers are not looked at.
func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// sidecarsOf returns the sidecars of a Pod in the order of its spec. The order is that of the names in requests and events.
func sidecarsOf(pod *corev1.Pod) (sidecars []sidecar) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if !isSidecar(container) {
			continue
		}
		sidecars = append(sidecars, sidecar{
			container: container, status: statusOf(pod, container.Name),
			stops: isTrue(container, pub.TerminateSidecarEnv), image: literal(container, pub.TerminateSidecarWithImageEnv),
			ignored: isTrue(container, pub.TerminateSidecarIgnoreExitCodeEnv),
		})
	}
	return sidecars
}

// mainsDone reports whether no other container runs or will be started again, and whether all of them succeeded. It returns false
// until the kubelet has reported every container. A Pod that has only sidecars has no container to wait for. Restartable init
// containers do not count: the kubelet ends them itself.
func mainsDone(pod *corev1.Pod) (done, succeeded bool) {
	// A container that is not reported yet may be a main container that has not started.
	if len(pod.Spec.Containers) != len(pod.Status.ContainerStatuses) {
		return false, false
	}
	succeeded = true
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if isSidecar(container) {
			continue
		}
		status := statusOf(pod, container.Name)
		if status == nil || status.State.Terminated == nil {
			return false, false
		}
		// A container that ended but will be started again is not done.
		code := status.State.Terminated.ExitCode
		if podstate.Restarts(pod, container, code) {
			return false, false
		}
		succeeded = succeeded && code == 0
	}
	return true, succeeded
}

// finished reports whether the kubelet ends or has ended all containers of the Pod, for another reason than this controller. A final
// phase with the condition SidecarTerminated was set by finish, and its sidecars still have to be stopped.
func finished(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		return false
	}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == pub.SidecarTerminatedConditionType {
			return false
		}
	}
	return true
}

// groups are the sidecars of a Pod by the way in which they are ended.
type groups struct {
	// inPlace get another image. kill and ignored are stopped by the node agent; the exit codes of ignored do not count.
	inPlace, kill, ignored []sidecar
}

// groupsOf divides the sidecars. On a virtual node, a container without the image cannot be ended. On another node, the image has no
// effect. A sidecar in no group is left alone, and does not hold up the others.
func groupsOf(sidecars []sidecar, virtual bool) (g groups) {
	for _, s := range sidecars {
		switch {
		case virtual && s.image != "":
			g.inPlace = append(g.inPlace, s)
		// The sidecar is marked for the other kind of node only.
		case virtual || !s.stops:
		case s.ignored:
			g.ignored = append(g.ignored, s)
		default:
			g.kill = append(g.kill, s)
		}
	}
	return g
}

// left returns the sidecars that have not ended. A sidecar without a status counts, because the kubelet may still start it.
func left(sidecars []sidecar) (running []sidecar) {
	for i := range sidecars {
		if !sidecars[i].ended() {
			running = append(running, sidecars[i])
		}
	}
	return running
}

// names returns the names of sidecars, in their order.
func names(sidecars []sidecar) (all []string) {
	for i := range sidecars {
		all = append(all, sidecars[i].container.Name)
	}
	return all
}
