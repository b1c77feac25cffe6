package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// DaemonSetUpdateStrategyType says what starts the update of a Pod.
type DaemonSetUpdateStrategyType string

const (
	// RollingUpdateDaemonSetStrategyType updates Pods node by node.
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteDaemonSetStrategyType updates a Pod only when somebody deletes it.
	OnDeleteDaemonSetStrategyType DaemonSetUpdateStrategyType = "OnDelete"
)

// RollingUpdateType says how a Pod comes to a new revision.
type RollingUpdateType string

const (
	// StandardRollingUpdateType deletes the Pod and creates a new one.
	StandardRollingUpdateType RollingUpdateType = "Standard"
	// InplaceRollingUpdateType updates the Pod in place where the change allows it, and
	// recreates it otherwise.
	InplaceRollingUpdateType RollingUpdateType = "InPlaceIfPossible"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DaemonSet keeps one Pod on each node that fits.
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

// DaemonSetSpec is what the user asks for. The fields are explained in v1beta1.
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

// DaemonSetScaleStrategy says how Pods are created.
type DaemonSetScaleStrategy struct {
	PartitionedScaling bool
}

// DaemonSetUpdateStrategy says how Pods come to a new revision.
type DaemonSetUpdateStrategy struct {
	Type          DaemonSetUpdateStrategyType
	RollingUpdate *RollingUpdateDaemonSet
}

// RollingUpdateDaemonSet is the settings of a rolling update.
type RollingUpdateDaemonSet struct {
	RollingUpdateType RollingUpdateType
	MaxUnavailable    *intstr.IntOrString
	MaxSurge          *intstr.IntOrString
	Selector          *metav1.LabelSelector
	Partition         *intstr.IntOrString
	Paused            *bool
}

// DaemonSetStatus is what the controller observed.
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
