package apps

import corev1 "k8s.io/api/core/v1"

// PodInjectPolicyType says where a container is put.
type PodInjectPolicyType string

const (
	// BeforeAppContainerType puts the container before those of the Pod.
	BeforeAppContainerType PodInjectPolicyType = "BeforeAppContainer"
	// AfterAppContainerType puts the container behind those of the Pod.
	AfterAppContainerType PodInjectPolicyType = "AfterAppContainer"
)

// SidecarContainerUpgradeType says how a container comes to a new image.
type SidecarContainerUpgradeType string

const (
	// SidecarContainerColdUpgrade restarts the container with the new image.
	SidecarContainerColdUpgrade SidecarContainerUpgradeType = "ColdUpgrade"
	// SidecarContainerHotUpgrade starts the new image in a second container, and then empties the first.
	SidecarContainerHotUpgrade SidecarContainerUpgradeType = "HotUpgrade"
)

// ShareVolumePolicyType says whether a container shares what the Pod's containers have.
type ShareVolumePolicyType string

const (
	// ShareVolumePolicyEnabled shares it.
	ShareVolumePolicyEnabled ShareVolumePolicyType = "enabled"
	// ShareVolumePolicyDisabled does not.
	ShareVolumePolicyDisabled ShareVolumePolicyType = "disabled"
)

// TargetContainersModeType says how the resources of several containers become one number.
type TargetContainersModeType string

const (
	// TargetContainersModeSum adds them up.
	TargetContainersModeSum TargetContainersModeType = "sum"
	// TargetContainersModeMax takes the largest.
	TargetContainersModeMax TargetContainersModeType = "max"
)

// SidecarContainer is a container of Kubernetes, and how it is added to Pods and upgraded.
type SidecarContainer struct {
	corev1.Container
	PodInjectPolicy         PodInjectPolicyType
	UpgradeStrategy         SidecarContainerUpgradeStrategy
	ShareVolumePolicy       ShareVolumePolicy
	ShareVolumeDevicePolicy *ShareVolumePolicy
	TransferEnv             []TransferEnvVar
	ResourcesPolicy         *ResourcesPolicy
}

// SidecarContainerUpgradeStrategy says how a container comes to a new image in a running Pod.
type SidecarContainerUpgradeStrategy struct {
	UpgradeType          SidecarContainerUpgradeType
	HotUpgradeEmptyImage string
}

// ShareVolumePolicy says whether a container shares what the Pod's containers have.
type ShareVolumePolicy struct {
	Type ShareVolumePolicyType
}

// TransferEnvVar names variables of one of the Pod's own containers.
type TransferEnvVar struct {
	SourceContainerName     string
	SourceContainerNameFrom *SourceContainerNameSource
	EnvName                 string
	EnvNames                []string
}

// SourceContainerNameSource says where a Pod names a container.
type SourceContainerNameSource struct {
	FieldRef *corev1.ObjectFieldSelector
}

// ResourcesPolicy computes the resources of a container from those of the Pod's own containers
// when the Pod is created.
type ResourcesPolicy struct {
	TargetContainersMode      TargetContainersModeType
	TargetContainersNameRegex *string
	ResourcesExpr             ResourcesExpr
}

// ResourcesExpr is the expressions for limits and requests, such as "max(cpu * 50%, 100m)".
// They know + - * / ( ), max and min of two values, numbers, percentages, quantities, and the
// variables cpu and memory.
type ResourcesExpr struct {
	Limits   *ResourceExprs
	Requests *ResourceExprs
}

// ResourceExprs is one expression for each resource.
type ResourceExprs struct {
	CPU    string
	Memory string
}
