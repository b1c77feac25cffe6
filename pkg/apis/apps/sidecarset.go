package apps

import corev1 "k8s.io/api/core/v1"

// KeepsRunning reports whether the init container is a sidecar, which runs beside the other containers.
func (c *SidecarContainer) KeepsRunning() bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// NamesInPod are the names that the container has in a Pod. A hot upgrade needs two, except for an
// init container that ends.
func (c *SidecarContainer) NamesInPod(initContainer bool) []string {
	if c.UpgradeStrategy.UpgradeType == SidecarContainerHotUpgrade && (!initContainer || c.KeepsRunning()) {
		return []string{c.Name + "-1", c.Name + "-2"}
	}
	return []string{c.Name}
}

// CoreContainers returns the core part of the containers. The result shares pointers with the argument.
func CoreContainers(containers []SidecarContainer) []corev1.Container {
	if containers == nil {
		return nil
	}
	result := make([]corev1.Container, len(containers))
	for i := range containers {
		result[i] = containers[i].Container
	}
	return result
}
