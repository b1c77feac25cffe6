package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// CloneSetUpdateStrategyType defines when Pods are updated.
type CloneSetUpdateStrategyType string

const (
	// RollingUpdateCloneSetStrategyType updates Pods gradually.
	RollingUpdateCloneSetStrategyType CloneSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteCloneSetStrategyType updates a Pod only when you delete it.
	OnDeleteCloneSetStrategyType CloneSetUpdateStrategyType = "OnDelete"
)

// CloneSetConditionType is the type of a condition of a CloneSet.
type CloneSetConditionType string

const (
	// CloneSetConditionFailedScale means that Pods could not be created or deleted.
	CloneSetConditionFailedScale CloneSetConditionType = "FailedScale"
	// CloneSetConditionFailedUpdate means that Pods could not be updated.
	CloneSetConditionFailedUpdate CloneSetConditionType = "FailedUpdate"
	// CloneSetConditionProgressing reports whether a rollout makes progress within its
	// deadline.
	CloneSetConditionProgressing CloneSetConditionType = "Progressing"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CloneSet manages Pods of a stateless application directly.
type CloneSet struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   CloneSetSpec
	Status CloneSetStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CloneSetList is a list of CloneSets.
type CloneSetList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []CloneSet
}

// CloneSetSpec is the desired state. The fields are explained in v1beta1.
type CloneSetSpec struct {
	Replicas                *int32
	Selector                *metav1.LabelSelector
	Template                corev1.PodTemplateSpec
	VolumeClaimTemplates    []corev1.PersistentVolumeClaim
	ScaleStrategy           CloneSetScaleStrategy
	UpdateStrategy          CloneSetUpdateStrategy
	RevisionHistoryLimit    *int32
	MinReadySeconds         int32
	Lifecycle               *pub.Lifecycle
	ProgressDeadlineSeconds *int32
}

// CloneSetScaleStrategy defines how Pods are created and which Pods are deleted first.
type CloneSetScaleStrategy struct {
	PodsToDelete           []string
	MaxUnavailable         *intstr.IntOrString
	EnablePVCReuse         bool
	ExcludePreparingDelete bool
}

// CloneSetUpdateStrategy defines how Pods are updated to a new revision.
type CloneSetUpdateStrategy struct {
	Type          CloneSetUpdateStrategyType
	RollingUpdate *RollingUpdateCloneSetStrategy
}

// RollingUpdateCloneSetStrategy contains the settings of a rolling update.
type RollingUpdateCloneSetStrategy struct {
	PodUpdatePolicy       pub.PodUpdatePolicyType
	Partition             *intstr.IntOrString
	MaxUnavailable        *intstr.IntOrString
	MaxSurge              *intstr.IntOrString
	Paused                bool
	PriorityStrategy      *pub.UpdatePriorityStrategy
	ScatterStrategy       []pub.UpdateScatterTerm
	InPlaceUpdateStrategy *InPlaceUpdateStrategy
}

// InPlaceUpdateStrategy contains the settings of an in-place update.
type InPlaceUpdateStrategy struct {
	GracePeriodSeconds                  int32
	ImagePreDownloadParallelism         *intstr.IntOrString
	ImagePreDownloadTimeoutSeconds      *int32
	ImagePreDownloadMinUpdatedReadyPods *intstr.IntOrString
}

// CloneSetStatus is the observed state.
type CloneSetStatus struct {
	ObservedGeneration       int64
	Replicas                 int32
	ReadyReplicas            int32
	AvailableReplicas        int32
	UpdatedReplicas          int32
	UpdatedReadyReplicas     int32
	UpdatedAvailableReplicas int32
	ExpectedUpdatedReplicas  int32
	UpdateRevision           string
	CurrentRevision          string
	CollisionCount           *int32
	Conditions               []CloneSetCondition
	LabelSelector            string
}

// CloneSetCondition describes one aspect of the state of a CloneSet.
type CloneSetCondition struct {
	Type               CloneSetConditionType
	Status             corev1.ConditionStatus
	LastUpdateTime     metav1.Time
	LastTransitionTime metav1.Time
	Reason             string
	Message            string
}
