package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// Hooked reports whether any marker of the hook is on the Pod. While it is, preDelete and the start of an in-place update hold
// the Pod. The user removes the markers to let the Pod continue.
func Hooked(hook *pub.LifecycleHook, pod *corev1.Pod) bool {
	present, _ := markers(hook, pod)
	return present > 0
}

// AllHooked reports whether every marker of the hook is on the Pod. It is true for an empty hook and false for a nil hook. A Pod
// passes preNormal and the end of an in-place update when all markers are present. The user adds the markers to let the Pod
// continue.
func AllHooked(hook *pub.LifecycleHook, pod *corev1.Pod) bool {
	present, total := markers(hook, pod)
	return hook != nil && present == total
}

// markers returns how many markers of the hook are on the Pod, and how many the hook has. Empty names do not count. A nil hook
// has none.
func markers(hook *pub.LifecycleHook, pod *corev1.Pod) (present, total int) {
	if hook == nil {
		return 0, 0
	}
	for key, value := range hook.LabelsHandler {
		if key == "" {
			continue
		}
		total++
		if found, ok := pod.Labels[key]; ok && found == value {
			present++
		}
	}
	for _, name := range hook.FinalizersHandler {
		if name == "" {
			continue
		}
		total++
		if slices.Contains(pod.Finalizers, name) {
			present++
		}
	}
	return present, total
}

// Drains reports whether one of the hooks takes Pods out of service while it holds them.
func Drains(hooks *pub.Lifecycle) bool {
	return hooks != nil && (hooks.PreDelete != nil && hooks.PreDelete.MarkPodNotReady ||
		hooks.InPlaceUpdate != nil && hooks.InPlaceUpdate.MarkPodNotReady)
}

// Mark adds every marker of the hook to the given object, which the caller owns. The next update then waits for the user again,
// because the markers are on the Pod.
func Mark(hook *pub.LifecycleHook, pod *corev1.Pod) {
	if hook == nil {
		return
	}
	for key, value := range hook.LabelsHandler {
		if key == "" {
			continue
		}
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		pod.Labels[key] = value
	}
	for _, name := range hook.FinalizersHandler {
		if name != "" && !slices.Contains(pod.Finalizers, name) {
			pod.Finalizers = append(pod.Finalizers, name)
		}
	}
}
