package sidecar

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Hot reports whether the container is upgraded by a second container.
func Hot(container *v1beta1.SidecarContainer) bool {
	return container.UpgradeStrategy.UpgradeType == v1beta1.SidecarContainerHotUpgrade
}

// KeepsRunning reports whether the init container runs beside the other containers.
func KeepsRunning(container *v1beta1.SidecarContainer) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Pair returns the names of the two containers of a hot upgrade in a Pod. A Pod has both from its creation, because containers
// cannot be added later.
func Pair(name string) (first, second string) { return name + "-1", name + "-2" }

// PodNames returns the names of the SidecarSet's containers in the containers of a Pod. Init containers are not among them.
func PodNames(set *v1beta1.SidecarSet) (names []string) {
	for i := range set.Spec.Containers {
		container := &set.Spec.Containers[i]
		if Hot(container) {
			first, second := Pair(container.Name)
			names = append(names, first, second)
			continue
		}
		names = append(names, container.Name)
	}
	return names
}

// recordedNames returns the names of the SidecarSet's containers as a Pod records them, sorted. A hot upgrade has its name in
// the SidecarSet, not those of its two containers.
func recordedNames(set *v1beta1.SidecarSet) []string {
	names := make([]string, 0, len(set.Spec.Containers))
	for i := range set.Spec.Containers {
		names = append(names, set.Spec.Containers[i].Name)
	}
	for i := range set.Spec.InitContainers {
		if KeepsRunning(&set.Spec.InitContainers[i]) {
			names = append(names, set.Spec.InitContainers[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// Working returns which of the two containers works, by the name of the container in the SidecarSet. It returns an error if the
// annotation of the Pod cannot be read. A Pod without hot upgrades has an empty map.
func Working(pod *corev1.Pod) (map[string]string, error) {
	working := map[string]string{}
	text := pod.Annotations[pub.SidecarSetWorkingContainersKey]
	if text == "" {
		return working, nil
	}
	if err := json.Unmarshal([]byte(text), &working); err != nil {
		return nil, fmt.Errorf("read annotation %q of Pod %q: %w", pub.SidecarSetWorkingContainersKey, pod.Name, err)
	}
	return working, nil
}

// EncodeWorking returns the value of the annotation that Working reads.
func EncodeWorking(working map[string]string) (string, error) {
	text, err := json.Marshal(working)
	if err != nil {
		return "", fmt.Errorf("encode annotation %q: %w", pub.SidecarSetWorkingContainersKey, err)
	}
	return string(text), nil
}

// Container returns the container of the Pod with the name, or nil.
func Container(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}
