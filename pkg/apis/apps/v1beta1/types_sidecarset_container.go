package v1beta1

import corev1 "k8s.io/api/core/v1"

// PodInjectPolicyType says where a container is put.
// +enum
//
// The empty value stands for the default.
type PodInjectPolicyType string

const (
	// BeforeAppContainerType puts the container before those of the Pod.
	BeforeAppContainerType PodInjectPolicyType = "BeforeAppContainer"
	// AfterAppContainerType puts the container behind those of the Pod.
	AfterAppContainerType PodInjectPolicyType = "AfterAppContainer"
)

// SidecarContainerUpgradeType says how a container comes to a new image.
// +enum
//
// The empty value stands for the default.
type SidecarContainerUpgradeType string

const (
	// SidecarContainerColdUpgrade restarts the container with the new image.
	SidecarContainerColdUpgrade SidecarContainerUpgradeType = "ColdUpgrade"
	// SidecarContainerHotUpgrade starts the new image in a second container, and then empties the first.
	SidecarContainerHotUpgrade SidecarContainerUpgradeType = "HotUpgrade"
)

// ShareVolumePolicyType says whether a container shares what the Pod's containers have.
// +enum
//
// The empty value stands for the default.
type ShareVolumePolicyType string

const (
	// ShareVolumePolicyEnabled shares it.
	ShareVolumePolicyEnabled ShareVolumePolicyType = "enabled"
	// ShareVolumePolicyDisabled does not.
	ShareVolumePolicyDisabled ShareVolumePolicyType = "disabled"
)

// TargetContainersModeType says how the resources of several containers become one number.
// +enum
type TargetContainersModeType string

const (
	// TargetContainersModeSum adds them up.
	TargetContainersModeSum TargetContainersModeType = "sum"
	// TargetContainersModeMax takes the largest.
	TargetContainersModeMax TargetContainersModeType = "max"
)

// SidecarContainer is a container of Kubernetes, and how it is added to Pods and upgraded.
type SidecarContainer struct {
	corev1.Container `json:",inline" protobuf:"bytes,1,opt,name=container"`

	// podInjectPolicy is BeforeAppContainer or AfterAppContainer: whether the container comes
	// before the Pod's own or behind them. It counts where the Pod has no container of that
	// name; otherwise the container takes the place of that one.
	// Defaults to BeforeAppContainer for containers, AfterAppContainer for initContainers.
	// +optional
	PodInjectPolicy PodInjectPolicyType `json:"podInjectPolicy,omitempty" protobuf:"bytes,2,opt,name=podInjectPolicy,casttype=PodInjectPolicyType"`

	// upgradeStrategy says how the container comes to a new image in a running Pod.
	// +optional
	UpgradeStrategy SidecarContainerUpgradeStrategy `json:"upgradeStrategy,omitempty" protobuf:"bytes,3,opt,name=upgradeStrategy"`

	// shareVolumePolicy says whether the container mounts what the Pod's own containers mount.
	// +optional
	ShareVolumePolicy ShareVolumePolicy `json:"shareVolumePolicy,omitempty" protobuf:"bytes,4,opt,name=shareVolumePolicy"`

	// shareVolumeDevicePolicy says whether the container gets the block devices of the Pod's
	// own containers.
	// +optional
	ShareVolumeDevicePolicy *ShareVolumePolicy `json:"shareVolumeDevicePolicy,omitempty" protobuf:"bytes,5,opt,name=shareVolumeDevicePolicy"`

	// transferEnv copies environment variables of the Pod's own containers. Variables that the
	// container sets itself stay.
	// +optional
	// +listType=atomic
	TransferEnv []TransferEnvVar `json:"transferEnv,omitempty" protobuf:"bytes,6,rep,name=transferEnv"`

	// resourcesPolicy computes the resources of the container from those of the Pod's own
	// containers. It excludes resources. Of initContainers, only those with restartPolicy
	// Always can have it.
	// +optional
	ResourcesPolicy *ResourcesPolicy `json:"resourcesPolicy,omitempty" protobuf:"bytes,7,opt,name=resourcesPolicy"`
}

// SidecarContainerUpgradeStrategy says how a container comes to a new image in a running Pod.
type SidecarContainerUpgradeStrategy struct {
	// upgradeType is ColdUpgrade or HotUpgrade. ColdUpgrade restarts the container with the
	// new image. HotUpgrade puts two containers into the Pod: the new image starts in the one
	// that is empty, and then the other one is emptied. It cannot be changed.
	// Defaults to ColdUpgrade.
	// +optional
	// +default="ColdUpgrade"
	UpgradeType SidecarContainerUpgradeType `json:"upgradeType,omitempty" protobuf:"bytes,1,opt,name=upgradeType,casttype=SidecarContainerUpgradeType"`

	// hotUpgradeEmptyImage is what runs in the empty container of a HotUpgrade, which needs
	// it. The image must pass the probes of the container and never end.
	// +optional
	HotUpgradeEmptyImage string `json:"hotUpgradeEmptyImage,omitempty" protobuf:"bytes,2,opt,name=hotUpgradeEmptyImage"`
}

// ShareVolumePolicy says whether a container shares what the Pod's containers have.
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

	// sourceContainerNameFrom says where the Pod names that container. It wins over
	// sourceContainerName.
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

// SourceContainerNameSource says where a Pod names a container.
type SourceContainerNameSource struct {
	// fieldRef is a label or an annotation of the Pod: metadata.labels['<key>'] or
	// metadata.annotations['<key>'].
	// +optional
	FieldRef *corev1.ObjectFieldSelector `json:"fieldRef,omitempty" protobuf:"bytes,1,opt,name=fieldRef"`
}

// ResourcesPolicy computes the resources of a container from those of the Pod's own containers
// when the Pod is created.
type ResourcesPolicy struct {
	// targetContainersMode is sum or max: how the resources of the Pod's own containers become
	// the variables cpu and memory.
	TargetContainersMode TargetContainersModeType `json:"targetContainersMode" protobuf:"bytes,1,opt,name=targetContainersMode,casttype=TargetContainersModeType"`

	// targetContainersNameRegex is a regular expression that selects among the Pod's own
	// containers by a part of their names.
	// Defaults to ".*", all of them.
	// +optional
	// +default=".*"
	TargetContainersNameRegex *string `json:"targetContainersNameRegex,omitempty" protobuf:"bytes,2,opt,name=targetContainersNameRegex"`

	// resourcesExpr is the expressions that the resources are computed with. At least one
	// must be set.
	ResourcesExpr ResourcesExpr `json:"resourcesExpr" protobuf:"bytes,3,opt,name=resourcesExpr"`
}

// ResourcesExpr is the expressions for limits and requests, such as "max(cpu * 50%, 100m)".
// They know + - * / ( ), max and min of two values, numbers, percentages, quantities, and the
// variables cpu and memory.
type ResourcesExpr struct {
	// limits computes the limits. Its variables are the limits of the Pod's own containers; a
	// limit is left out where one of those containers has none.
	// +optional
	Limits *ResourceExprs `json:"limits,omitempty" protobuf:"bytes,1,opt,name=limits"`

	// requests computes the requests. Its variables are the requests of the Pod's own
	// containers.
	// +optional
	Requests *ResourceExprs `json:"requests,omitempty" protobuf:"bytes,2,opt,name=requests"`
}

// ResourceExprs is one expression for each resource.
type ResourceExprs struct {
	// cpu is the expression for cpu.
	// +optional
	CPU string `json:"cpu,omitempty" protobuf:"bytes,1,opt,name=cpu"`

	// memory is the expression for memory.
	// +optional
	Memory string `json:"memory,omitempty" protobuf:"bytes,2,opt,name=memory"`
}
