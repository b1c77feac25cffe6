package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/pub"
)

// SidecarSetSettings returns the settings that a SidecarSet has both as a field and in its metadata.
func SidecarSetSettings() []annotation.Setting[*SidecarSet] {
	return []annotation.Setting[*SidecarSet]{{
		Key: pub.SidecarSetCustomVersionKey, Label: true,
		Normalize: func(text string) string { return text },
		Text:      func(set *SidecarSet) string { return set.Spec.CustomVersion },
		Set:       func(set *SidecarSet, text string) { set.Spec.CustomVersion = text },
	}}
}

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

// SelectNamespace returns the selector that v1beta1 has in place of the namespace of v1alpha1.
func SelectNamespace(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
}

// SelectedNamespace returns the name of a namespace if the selector is exactly that of SelectNamespace, and "" otherwise.
func SelectedNamespace(selector *metav1.LabelSelector) string {
	if selector == nil || len(selector.MatchExpressions) > 0 || len(selector.MatchLabels) != 1 {
		return ""
	}
	name := selector.MatchLabels[corev1.LabelMetadataName]
	// A value that is not the name of a namespace stays a selector, which selects none.
	if len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return name
}
