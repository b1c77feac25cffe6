package launchorder

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/launch"
	"kruise.io/kruise/pkg/workload/podstate"
)

// reasonNoConfig is the kubelet's reason for a container whose environment refers to something missing.
const reasonNoConfig = "CreateContainerConfigError"

// concerned reports whether a Pod has containers that wait or may wait for the controller. It is called for every event of every Pod.
// It allocates nothing. A Pod whose keys all exist is left out, unless a container cannot start because its ConfigMap is gone.
func concerned(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	if completed(pod) && !lost(pod) {
		return false
	}
	for i := range pod.Spec.Containers {
		if _, found := launch.Held(pod, &pod.Spec.Containers[i]); found {
			return true
		}
	}
	return false
}

// completed reports whether an earlier pass has added all keys.
func completed(pod *corev1.Pod) bool {
	return pod.Annotations[pub.ContainerLaunchCompletedKey] == "true"
}

// lost reports whether a container waits for its configuration. After all keys were added, the ConfigMap may be missing. Only then is
// a Pod reconciled that was completed before.
func lost(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && waiting.Reason == reasonNoConfig {
			return true
		}
	}
	return false
}

// order is the state of a Pod.
type order struct {
	// open are the keys of the priorities that may start: the highest one that is not satisfied, and all above it. The last one is the
	// lowest.
	open []string
	// done is true if they are all keys.
	done bool
}

// orderOf returns which containers of a Pod may start now. If all keys had been added before, it returns all of them, so a ConfigMap
// that was deleted is made again as a whole.
func orderOf(pod *corev1.Pod) order {
	var all []int
	waiting := map[int]bool{}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		priority, found := launch.Held(pod, container)
		if !found {
			continue
		}
		all = append(all, priority)
		waiting[priority] = waiting[priority] || !satisfied(pod, container)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	slices.Reverse(all)
	var o order
	// A container that was ready and restarts later does not hold back others, because keys are never removed.
	for i, priority := range all {
		o.open = append(o.open, launch.Key(priority))
		o.done = i == len(all)-1
		if waiting[priority] && !completed(pod) {
			break
		}
	}
	return o
}

// satisfied reports whether the containers of lower priorities need not wait for a container: it is ready, or it has succeeded and does
// not start again. A container without a status is neither.
func satisfied(pod *corev1.Pod, container *corev1.Container) bool {
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == container.Name {
			ended := status.State.Terminated
			return status.Ready || ended != nil && ended.ExitCode == 0 && !podstate.Restarts(pod, container, 0)
		}
	}
	return false
}

// failed returns a container that holds back others, has ended with an error, and does not start again.
func failed(pod *corev1.Pod, o *order) (name string, code int32, found bool) {
	if o.done {
		return "", 0, false
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		// The last key is the one whose containers are waited for.
		if priority, held := launch.Held(pod, container); !held || launch.Key(priority) != o.open[len(o.open)-1] {
			continue
		}
		for j := range pod.Status.ContainerStatuses {
			status := &pod.Status.ContainerStatuses[j]
			if ended := status.State.Terminated; status.Name == container.Name && ended != nil && ended.ExitCode != 0 &&
				!podstate.Restarts(pod, container, ended.ExitCode) {
				return container.Name, ended.ExitCode, true
			}
		}
	}
	return "", 0, false
}

// mostWakes is how often the kubelet is woken for a key. A container may wait for something else. Each wake is a write of the Pod.
const mostWakes = 3

// nextWake returns the next value of the annotation that wakes the kubelet, or "" if no container waits for a key that exists. The
// kubelet repeats a failed start when its Pod changes, and otherwise only after 10 to 15 seconds. The value is the lowest key and a
// count, so each value differs from the one before. A new key begins with the count 1.
func nextWake(pod *corev1.Pod, o *order) string {
	last := o.open[len(o.open)-1]
	count := 0
	if key, number, found := strings.Cut(pod.Annotations[pub.ContainerLaunchOpenedKey], " "); found && key == last {
		count, _ = strconv.Atoi(number)
	}
	if count >= mostWakes || !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return stuck(pod, &c, o) }) {
		return ""
	}
	return last + " " + strconv.Itoa(count+1)
}

// stuck reports whether a container still waits for a key that exists. A container that waits for another reason, such as its image,
// is not stuck.
func stuck(pod *corev1.Pod, container *corev1.Container, o *order) bool {
	priority, found := launch.Held(pod, container)
	if !found || !slices.Contains(o.open, launch.Key(priority)) {
		return false
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == container.Name && s.State.Waiting != nil && s.State.Waiting.Reason == reasonNoConfig
	})
}
