package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// VolumeClaimUpdateStrategyType defines when a changed claim template is applied to existing claims.
type VolumeClaimUpdateStrategyType string

const (
	// OnPodRollingUpdateVolumeClaimUpdateStrategyType expands a claim when its Pod is
	// updated.
	OnPodRollingUpdateVolumeClaimUpdateStrategyType VolumeClaimUpdateStrategyType = "OnPodRollingUpdate"
	// OnDeleteVolumeClaimUpdateStrategyType does not change existing claims.
	OnDeleteVolumeClaimUpdateStrategyType VolumeClaimUpdateStrategyType = "OnDelete"
)

// PersistentVolumeClaimRetentionPolicyType defines what happens to claims.
type PersistentVolumeClaimRetentionPolicyType string

const (
	// RetainPersistentVolumeClaimRetentionPolicyType keeps claims.
	RetainPersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Retain"
	// DeletePersistentVolumeClaimRetentionPolicyType deletes claims.
	DeletePersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Delete"
)

// Conditions of a StatefulSet.
const (
	// StatefulSetConditionFailedCreatePod means that a Pod or its claims could not be
	// created.
	StatefulSetConditionFailedCreatePod appsv1.StatefulSetConditionType = "FailedCreatePod"
	// StatefulSetConditionFailedUpdatePod means that a Pod could not be updated.
	StatefulSetConditionFailedUpdatePod appsv1.StatefulSetConditionType = "FailedUpdatePod"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// StatefulSet manages Pods that keep their names, their order and their volumes.
type StatefulSet struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   StatefulSetSpec
	Status StatefulSetStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// StatefulSetList is a list of StatefulSets.
type StatefulSetList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []StatefulSet
}

// StatefulSetSpec is the desired state. The fields are explained in v1beta1.
type StatefulSetSpec struct {
	Replicas                             *int32
	Selector                             *metav1.LabelSelector
	Template                             corev1.PodTemplateSpec
	VolumeClaimTemplates                 []corev1.PersistentVolumeClaim
	VolumeClaimUpdateStrategy            VolumeClaimUpdateStrategy
	ServiceName                          string
	PodManagementPolicy                  appsv1.PodManagementPolicyType
	UpdateStrategy                       StatefulSetUpdateStrategy
	RevisionHistoryLimit                 *int32
	ReserveOrdinals                      []intstr.IntOrString
	Lifecycle                            *pub.Lifecycle
	ScaleStrategy                        *StatefulSetScaleStrategy
	PersistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy
	Ordinals                             *StatefulSetOrdinals
}

// VolumeClaimUpdateStrategy defines what happens to existing claims when their template changes.
type VolumeClaimUpdateStrategy struct {
	Type VolumeClaimUpdateStrategyType
}

// StatefulSetUpdateStrategy defines how Pods are updated to a new revision.
type StatefulSetUpdateStrategy struct {
	Type          appsv1.StatefulSetUpdateStrategyType
	RollingUpdate *RollingUpdateStatefulSetStrategy
}

// RollingUpdateStatefulSetStrategy contains the settings of a rolling update.
type RollingUpdateStatefulSetStrategy struct {
	Partition             *int32
	MaxUnavailable        *intstr.IntOrString
	PodUpdatePolicy       pub.PodUpdatePolicyType
	Paused                bool
	UnorderedUpdate       *UnorderedUpdateStrategy
	InPlaceUpdateStrategy *pub.InPlaceUpdateStrategy
	MinReadySeconds       *int32
}

// UnorderedUpdateStrategy defines another update order than by ordinal.
type UnorderedUpdateStrategy struct {
	PriorityStrategy *pub.UpdatePriorityStrategy
}

// StatefulSetScaleStrategy defines how Pods are created.
type StatefulSetScaleStrategy struct {
	MaxUnavailable *intstr.IntOrString
}

// StatefulSetPersistentVolumeClaimRetentionPolicy defines when claims are deleted.
type StatefulSetPersistentVolumeClaimRetentionPolicy struct {
	WhenDeleted PersistentVolumeClaimRetentionPolicyType
	WhenScaled  PersistentVolumeClaimRetentionPolicyType
}

// StatefulSetOrdinals defines the ordinals of the Pods.
type StatefulSetOrdinals struct {
	Start int32
}

// StatefulSetStatus is the observed state.
type StatefulSetStatus struct {
	ObservedGeneration       int64
	Replicas                 int32
	ReadyReplicas            int32
	AvailableReplicas        int32
	CurrentReplicas          int32
	UpdatedReplicas          int32
	UpdatedReadyReplicas     int32
	UpdatedAvailableReplicas int32
	CurrentRevision          string
	UpdateRevision           string
	CollisionCount           *int32
	Conditions               []appsv1.StatefulSetCondition
	LabelSelector            string
	VolumeClaims             []VolumeClaimStatus
}

// VolumeClaimStatus counts the claims of one template.
type VolumeClaimStatus struct {
	VolumeClaimName         string
	CompatibleReplicas      int32
	CompatibleReadyReplicas int32
}
