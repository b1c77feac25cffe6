package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// Consistent reports whether the Pod's running containers match its spec, so no in-place update is in progress. A running digest that
// is not the one of the spec disproves it, and running digests of all containers prove it. Otherwise the records of updates decide.
func Consistent(pod *corev1.Pod) bool {
	proven := 0
	for i := range pod.Spec.Containers {
		switch podstate.RunsDigest(pod, &pod.Spec.Containers[i]) {
		case podstate.DigestDiffers:
			return false
		case podstate.DigestRuns:
			proven++
		case podstate.DigestUnknown:
		}
	}
	if proven > 0 && proven == len(pod.Spec.Containers) {
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
