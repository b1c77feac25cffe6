package disruption

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// Consistent reports whether the Pod's running containers match its spec, so no in-place update is in progress. If all images
// have digests, the running digests decide, because they prove what runs. Otherwise the records of updates do.
func Consistent(pod *corev1.Pod) bool {
	digests := 0
	for i := range pod.Spec.Containers {
		_, digest, found := strings.Cut(pod.Spec.Containers[i].Image, "@")
		if !found {
			continue
		}
		digests++
		if status := statusOf(pod, pod.Spec.Containers[i].Name); status == nil || !strings.HasSuffix(status.ImageID, digest) {
			return false
		}
	}
	if digests > 0 && digests == len(pod.Spec.Containers) {
		return true
	}
	if !sidecarsConsistent(pod) {
		return false
	}
	complete, err := inplace.Complete(pod)
	return err == nil && complete
}

// sidecarsConsistent is Consistent for containers that SidecarSets injected. The records of their upgrades decide, by the rule of the
// SidecarSets.
func sidecarsConsistent(pod *corev1.Pod) bool {
	// Most Pods have no record, and are counted often.
	if _, upgraded := pod.Annotations[pub.SidecarSetInPlaceUpdateStateKey]; !upgraded || pod.Annotations[pub.SidecarSetInjectedListKey] == "" {
		return true
	}
	var sidecars []*corev1.Container
	for i := range pod.Spec.Containers {
		if injected(&pod.Spec.Containers[i]) {
			sidecars = append(sidecars, &pod.Spec.Containers[i])
		}
	}
	return sidecar.Completed(pod, sidecars)
}

// injected reports whether a SidecarSet has added the container.
func injected(container *corev1.Container) bool {
	return slices.ContainsFunc(container.Env, func(env corev1.EnvVar) bool {
		return env.Name == pub.SidecarInjectedEnv && env.Value == "true"
	})
}

// statusOf returns the status of a container, or nil if the node has not reported it.
func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
