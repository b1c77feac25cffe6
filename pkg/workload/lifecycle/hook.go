package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// Hooked tells whether any marker of the hook is on the Pod. A Pod stays where preDelete or the beginning of an in-place
// update found it while it is hooked: the user removes the markers to let it go.
func Hooked(hook *pub.LifecycleHook, pod *corev1.Pod) bool {
	present, _ := markers(hook, pod)
	return present > 0
}

// AllHooked tells whether every marker of the hook is on the Pod; an empty hook has them all, an absent one never. A Pod
// passes preNormal and the end of an in-place update when it is all hooked: the user adds the markers to let it go.
func AllHooked(hook *pub.LifecycleHook, pod *corev1.Pod) bool {
	present, total := markers(hook, pod)
	return hook != nil && present == total
}

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

// Mark puts every marker of the hook onto the object given, which the caller owns.
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
