package v1alpha1

import corev1 "k8s.io/api/core/v1"

// PodInjectPolicyType defines where a container is placed.
// +enum
//
// The empty value means the default.
type PodInjectPolicyType string

const (
	// BeforeAppContainerType puts the container before those of the Pod.
	BeforeAppContainerType PodInjectPolicyType = "BeforeAppContainer"
	// AfterAppContainerType puts the container after those of the Pod.
	AfterAppContainerType PodInjectPolicyType = "AfterAppContainer"
)

// SidecarContainerUpgradeType defines how a container is updated to a new image.
// +enum
//
// The empty value means the default.
type SidecarContainerUpgradeType string

const (
	// SidecarContainerColdUpgrade restarts the container with the new image.
	SidecarContainerColdUpgrade SidecarContainerUpgradeType = "ColdUpgrade"
	// SidecarContainerHotUpgrade starts the new image in a second container, and then empties the first.
	SidecarContainerHotUpgrade SidecarContainerUpgradeType = "HotUpgrade"
)

// ShareVolumePolicyType defines whether a container shares the volumes or devices of the Pod's containers.
// +enum
//
// The empty value means the default.
type ShareVolumePolicyType string

const (
	// ShareVolumePolicyEnabled shares them.
	ShareVolumePolicyEnabled ShareVolumePolicyType = "enabled"
	// ShareVolumePolicyDisabled does not share them.
	ShareVolumePolicyDisabled ShareVolumePolicyType = "disabled"
)

// TargetContainersModeType defines how the resources of several containers are combined.
// +enum
type TargetContainersModeType string

const (
	// TargetContainersModeSum adds them up.
	TargetContainersModeSum TargetContainersModeType = "sum"
	// TargetContainersModeMax takes the largest.
	TargetContainersModeMax TargetContainersModeType = "max"
)

// SidecarContainer is a Kubernetes container with settings for its injection and upgrade.
type SidecarContainer struct {
	corev1.Container `json:",inline" protobuf:"bytes,1,opt,name=container"`

	// podInjectPolicy is BeforeAppContainer or AfterAppContainer. It defines whether the
	// container is placed before or after the containers of the Pod. If the Pod has a
	// container with the same name, the container replaces it.
	// Defaults to BeforeAppContainer for containers, AfterAppContainer for initContainers.
	// +optional
	PodInjectPolicy PodInjectPolicyType `json:"podInjectPolicy,omitempty" protobuf:"bytes,2,opt,name=podInjectPolicy,casttype=PodInjectPolicyType"`

	// upgradeStrategy defines how the container is updated to a new image in a running Pod.
	// +optional
	UpgradeStrategy SidecarContainerUpgradeStrategy `json:"upgradeStrategy,omitempty" protobuf:"bytes,3,opt,name=upgradeStrategy"`

	// shareVolumePolicy defines whether the container gets the volume mounts of the Pod's
	// own containers.
	// +optional
	ShareVolumePolicy ShareVolumePolicy `json:"shareVolumePolicy,omitempty" protobuf:"bytes,4,opt,name=shareVolumePolicy"`

	// shareVolumeDevicePolicy defines whether the container gets the block devices of the
	// Pod's own containers.
	// +optional
	ShareVolumeDevicePolicy *ShareVolumePolicy `json:"shareVolumeDevicePolicy,omitempty" protobuf:"bytes,5,opt,name=shareVolumeDevicePolicy"`

	// transferEnv copies environment variables of the Pod's own containers. Variables that
	// the container defines itself are not replaced.
	// +optional
	// +listType=atomic
	TransferEnv []TransferEnvVar `json:"transferEnv,omitempty" protobuf:"bytes,6,rep,name=transferEnv"`

	// resourcesPolicy computes the resources of the container from those of the Pod's own
	// containers. It cannot be used together with resources. An initContainer can have it
	// only with restartPolicy Always.
	// +optional
	ResourcesPolicy *ResourcesPolicy `json:"resourcesPolicy,omitempty" protobuf:"bytes,7,opt,name=resourcesPolicy"`
}

// SidecarContainerUpgradeStrategy defines how a container is updated to a new image in a running Pod.
type SidecarContainerUpgradeStrategy struct {
	// upgradeType is ColdUpgrade or HotUpgrade. ColdUpgrade restarts the container with the
	// new image. HotUpgrade adds two containers to the Pod. One of them runs an empty image.
	// An upgrade starts the new image in that container, and then sets the other container
	// to the empty image. The field cannot be changed.
	// Defaults to ColdUpgrade.
	// +optional
	// +default="ColdUpgrade"
	UpgradeType SidecarContainerUpgradeType `json:"upgradeType,omitempty" protobuf:"bytes,1,opt,name=upgradeType,casttype=SidecarContainerUpgradeType"`

	// hotUpgradeEmptyImage is the image of the empty container. It is required with
	// HotUpgrade. The image must pass the probes of the container and must not exit.
	// +optional
	HotUpgradeEmptyImage string `json:"hotUpgradeEmptyImage,omitempty" protobuf:"bytes,2,opt,name=hotUpgradeEmptyImage"`
}

// ShareVolumePolicy defines whether a container shares the volumes or devices of the Pod's containers.
type ShareVolumePolicy struct {
	// type is enabled or disabled.
	// Defaults to disabled.
	// +optional
	// +default="disabled"
	Type ShareVolumePolicyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=ShareVolumePolicyType"`
}

// TransferEnvVar names variables of one of the Pod's own containers.
type TransferEnvVar struct {
	// sourceContainerName is the container that has the variables.
	// +optional
	SourceContainerName string `json:"sourceContainerName,omitempty" protobuf:"bytes,1,opt,name=sourceContainerName"`

	// sourceContainerNameFrom is the field of the Pod that contains the name of the source
	// container. It takes precedence over sourceContainerName.
	// +optional
	SourceContainerNameFrom *SourceContainerNameSource `json:"sourceContainerNameFrom,omitempty" protobuf:"bytes,2,opt,name=sourceContainerNameFrom"`

	// envName is the name of one variable.
	// +optional
	EnvName string `json:"envName,omitempty" protobuf:"bytes,3,opt,name=envName"`

	// envNames are the names of more variables.
	// +optional
	// +listType=atomic
	EnvNames []string `json:"envNames,omitempty" protobuf:"bytes,4,rep,name=envNames"`
}

// SourceContainerNameSource is a field of a Pod that contains the name of a container.
type SourceContainerNameSource struct {
	// fieldRef is a label or an annotation of the Pod: metadata.labels['<key>'] or
	// metadata.annotations['<key>'].
	// +optional
	FieldRef *corev1.ObjectFieldSelector `json:"fieldRef,omitempty" protobuf:"bytes,1,opt,name=fieldRef"`
}

// ResourcesPolicy computes the resources of a container from those of the Pod's own containers
// when the Pod is created.
type ResourcesPolicy struct {
	// targetContainersMode is sum or max. It defines how the resources of the Pod's own
	// containers are combined into the variables cpu and memory.
	TargetContainersMode TargetContainersModeType `json:"targetContainersMode" protobuf:"bytes,1,opt,name=targetContainersMode,casttype=TargetContainersModeType"`

	// targetContainersNameRegex is a regular expression. It selects the Pod's own containers
	// whose names contain a match.
	// Defaults to ".*", which selects all containers.
	// +optional
	// +default=".*"
	TargetContainersNameRegex *string `json:"targetContainersNameRegex,omitempty" protobuf:"bytes,2,opt,name=targetContainersNameRegex"`

	// resourcesExpr contains the expressions that compute the resources. At least one must
	// be set.
	ResourcesExpr ResourcesExpr `json:"resourcesExpr" protobuf:"bytes,3,opt,name=resourcesExpr"`
}

// ResourcesExpr contains the expressions for limits and requests, such as "max(cpu * 50%, 100m)". An expression can
// contain + - * / ( ), max and min of two values, numbers, percentages, quantities, and the variables cpu and memory.
type ResourcesExpr struct {
	// limits computes the limits from the limits of the Pod's own containers. A limit is not
	// set if one of these containers does not have it.
	// +optional
	Limits *ResourceExprs `json:"limits,omitempty" protobuf:"bytes,1,opt,name=limits"`

	// requests computes the requests from the requests of the Pod's own containers.
	// +optional
	Requests *ResourceExprs `json:"requests,omitempty" protobuf:"bytes,2,opt,name=requests"`
}

// ResourceExprs is one expression for each resource.
type ResourceExprs struct {
	// cpu is the expression for cpu. Its variable is cpu.
	// +optional
	CPU string `json:"cpu,omitempty" protobuf:"bytes,1,opt,name=cpu"`

	// memory is the expression for memory. Its variable is memory.
	// +optional
	Memory string `json:"memory,omitempty" protobuf:"bytes,2,opt,name=memory"`
}
