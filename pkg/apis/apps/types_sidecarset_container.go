package apps

import corev1 "k8s.io/api/core/v1"

// PodInjectPolicyType defines where a container is placed.
type PodInjectPolicyType string

const (
	// BeforeAppContainerType puts the container before those of the Pod.
	BeforeAppContainerType PodInjectPolicyType = "BeforeAppContainer"
	// AfterAppContainerType puts the container after those of the Pod.
	AfterAppContainerType PodInjectPolicyType = "AfterAppContainer"
)

// SidecarContainerUpgradeType defines how a container is updated to a new image.
type SidecarContainerUpgradeType string

const (
	// SidecarContainerColdUpgrade restarts the container with the new image.
	SidecarContainerColdUpgrade SidecarContainerUpgradeType = "ColdUpgrade"
	// SidecarContainerHotUpgrade starts the new image in a second container, and then empties the first.
	SidecarContainerHotUpgrade SidecarContainerUpgradeType = "HotUpgrade"
)

// ShareVolumePolicyType defines whether a container shares the volumes or devices of the Pod's containers.
type ShareVolumePolicyType string

const (
	// ShareVolumePolicyEnabled shares them.
	ShareVolumePolicyEnabled ShareVolumePolicyType = "enabled"
	// ShareVolumePolicyDisabled does not share them.
	ShareVolumePolicyDisabled ShareVolumePolicyType = "disabled"
)

// TargetContainersModeType defines how the resources of several containers are combined.
type TargetContainersModeType string

const (
	// TargetContainersModeSum adds them up.
	TargetContainersModeSum TargetContainersModeType = "sum"
	// TargetContainersModeMax takes the largest.
	TargetContainersModeMax TargetContainersModeType = "max"
)

// SidecarContainer is a Kubernetes container with settings for its injection and upgrade.
type SidecarContainer struct {
	corev1.Container
	PodInjectPolicy         PodInjectPolicyType
	UpgradeStrategy         SidecarContainerUpgradeStrategy
	ShareVolumePolicy       ShareVolumePolicy
	ShareVolumeDevicePolicy *ShareVolumePolicy
	TransferEnv             []TransferEnvVar
	ResourcesPolicy         *ResourcesPolicy
}

// SidecarContainerUpgradeStrategy defines how a container is updated to a new image in a running Pod.
type SidecarContainerUpgradeStrategy struct {
	UpgradeType          SidecarContainerUpgradeType
	HotUpgradeEmptyImage string
}

// ShareVolumePolicy defines whether a container shares the volumes or devices of the Pod's containers.
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

// SourceContainerNameSource is a field of a Pod that contains the name of a container.
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

// ResourcesExpr contains the expressions for limits and requests, such as "max(cpu * 50%, 100m)". An expression can
// contain + - * / ( ), max and min of two values, numbers, percentages, quantities, and the variables cpu and memory.
type ResourcesExpr struct {
	Limits   *ResourceExprs
	Requests *ResourceExprs
}

// ResourceExprs is one expression for each resource.
type ResourceExprs struct {
	CPU    string
	Memory string
}
