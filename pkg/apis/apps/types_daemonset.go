package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// DaemonSetUpdateStrategyType defines when Pods are updated.
type DaemonSetUpdateStrategyType string

const (
	// RollingUpdateDaemonSetStrategyType updates Pods node by node.
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteDaemonSetStrategyType updates a Pod only when you delete it.
	OnDeleteDaemonSetStrategyType DaemonSetUpdateStrategyType = "OnDelete"
)

// RollingUpdateType defines how a Pod is updated.
type RollingUpdateType string

const (
	// StandardRollingUpdateType deletes the Pod and creates a new one.
	StandardRollingUpdateType RollingUpdateType = "Standard"
	// InplaceRollingUpdateType updates the Pod in place if the change allows it, and
	// recreates it otherwise.
	InplaceRollingUpdateType RollingUpdateType = "InPlaceIfPossible"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DaemonSet runs one Pod on each eligible node.
type DaemonSet struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   DaemonSetSpec
	Status DaemonSetStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DaemonSetList is a list of DaemonSets.
type DaemonSetList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []DaemonSet
}

// DaemonSetSpec is the desired state. The fields are explained in v1beta1.
type DaemonSetSpec struct {
	Selector             *metav1.LabelSelector
	Template             corev1.PodTemplateSpec
	UpdateStrategy       DaemonSetUpdateStrategy
	MinReadySeconds      int32
	BurstReplicas        *intstr.IntOrString
	RevisionHistoryLimit *int32
	Lifecycle            *pub.Lifecycle
	ScaleStrategy        DaemonSetScaleStrategy
}

// DaemonSetScaleStrategy defines how Pods are created.
type DaemonSetScaleStrategy struct {
	PartitionedScaling bool
}

// DaemonSetUpdateStrategy defines how Pods are updated to a new revision.
type DaemonSetUpdateStrategy struct {
	Type          DaemonSetUpdateStrategyType
	RollingUpdate *RollingUpdateDaemonSet
}

// RollingUpdateDaemonSet contains the settings of a rolling update.
type RollingUpdateDaemonSet struct {
	RollingUpdateType RollingUpdateType
	MaxUnavailable    *intstr.IntOrString
	MaxSurge          *intstr.IntOrString
	Selector          *metav1.LabelSelector
	Partition         *intstr.IntOrString
	Paused            *bool
}

// DaemonSetStatus is the observed state.
type DaemonSetStatus struct {
	CurrentNumberScheduled int32
	NumberMisscheduled     int32
	DesiredNumberScheduled int32
	NumberReady            int32
	ObservedGeneration     int64
	UpdatedNumberScheduled int32
	NumberAvailable        int32
	NumberUnavailable      int32
	CollisionCount         *int32
	Conditions             []appsv1.DaemonSetCondition
	UpdateRevision         string
}
