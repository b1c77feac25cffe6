package apps

import corev1 "k8s.io/api/core/v1"

// KeepsRunning says whether the container, as an init container, runs beside the others instead of
// before them.
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

// CoreContainers are what core knows of the containers. They share what their fields refer to.
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
