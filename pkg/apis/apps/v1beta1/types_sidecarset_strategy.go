package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// SidecarSetUpdateStrategyType defines whether existing Pods are upgraded.
// +enum
//
// The empty value means the default.
type SidecarSetUpdateStrategyType string

const (
	// RollingUpdateSidecarSetStrategyType upgrades Pods gradually.
	RollingUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "RollingUpdate"
	// NotUpdateSidecarSetStrategyType does not upgrade existing Pods: changes apply only to
	// new Pods.
	NotUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "NotUpdate"
)

// SidecarSetInjectRevisionPolicy defines which new Pods get a stored revision.
// +enum
//
// The empty value means the default.
type SidecarSetInjectRevisionPolicy string

const (
	// AlwaysSidecarSetInjectRevisionPolicy gives it to all of them.
	AlwaysSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Always"
	// PartialSidecarSetInjectRevisionPolicy gives it to the Pods that updateStrategy keeps
	// at the old version.
	PartialSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Partial"
)

// SidecarSetPatchPolicyType defines what happens to an annotation that a Pod already has.
// +enum
//
// The empty value means the default.
type SidecarSetPatchPolicyType string

const (
	// SidecarSetRetainPatchPolicy keeps it.
	SidecarSetRetainPatchPolicy SidecarSetPatchPolicyType = "Retain"
	// SidecarSetOverwritePatchPolicy replaces it.
	SidecarSetOverwritePatchPolicy SidecarSetPatchPolicyType = "Overwrite"
	// SidecarSetMergePatchJSONPatchPolicy merges the two as JSON.
	SidecarSetMergePatchJSONPatchPolicy SidecarSetPatchPolicyType = "MergePatchJson"
)

// SidecarSetUpdateStrategy defines how existing Pods are updated to new images.
type SidecarSetUpdateStrategy struct {
	// type is RollingUpdate or NotUpdate. RollingUpdate updates images in existing Pods
	// gradually. NotUpdate does not update existing Pods: changes apply only to new Pods.
	// Defaults to RollingUpdate.
	// +optional
	// +default="RollingUpdate"
	Type SidecarSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=SidecarSetUpdateStrategyType"`

	// paused stops the upgrade of Pods. New Pods still get the containers.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,2,opt,name=paused"`

	// selector limits the upgrade to Pods with these labels. If set, it must not be empty.
	// It cannot be used together with partition. If unset, all Pods are upgraded.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,3,opt,name=selector"`

	// partition is the number of Pods that stay at the old version. It is a number, or a
	// percentage of the matched Pods such as "90%", rounded up. With more than one Pod, only
	// 100% keeps all Pods at the old version.
	// Defaults to 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty" protobuf:"bytes,4,opt,name=partition"`

	// maxUnavailable is the maximum number of upgraded Pods that are not ready at a time. It
	// is a number, or a percentage of the matched Pods such as "20%", rounded up. With 0, no
	// ready Pod is upgraded.
	// Defaults to 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,5,opt,name=maxUnavailable"`

	// priorityStrategy defines which Pods are upgraded first.
	// +optional
	PriorityStrategy *pub.UpdatePriorityStrategy `json:"priorityStrategy,omitempty" protobuf:"bytes,6,opt,name=priorityStrategy"`

	// scatterStrategy spreads the Pods that have one of these labels evenly over the upgrade.
	// The value "*" stands for every value of the label.
	// +optional
	// +listType=atomic
	ScatterStrategy []pub.UpdateScatterTerm `json:"scatterStrategy,omitempty" protobuf:"bytes,7,rep,name=scatterStrategy"`
}

// SidecarSetInjectionStrategy defines what is added to new Pods.
type SidecarSetInjectionStrategy struct {
	// paused stops the injection into new Pods. Existing Pods are still upgraded.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,1,opt,name=paused"`

	// revision injects a stored revision into new Pods instead of the current one.
	// +optional
	Revision *SidecarSetInjectRevision `json:"revision,omitempty" protobuf:"bytes,2,opt,name=revision"`
}

// SidecarSetInjectRevision names a stored revision. customVersion, revisionName or both must be set. revisionName takes
// precedence.
type SidecarSetInjectRevision struct {
	// customVersion selects a revision by the customVersion that the SidecarSet had. If
	// several revisions match, the newest one is used.
	// +optional
	CustomVersion *string `json:"customVersion,omitempty" protobuf:"bytes,1,opt,name=customVersion"`

	// revisionName selects a revision by the name of its ControllerRevision.
	// +optional
	RevisionName *string `json:"revisionName,omitempty" protobuf:"bytes,2,opt,name=revisionName"`

	// policy is Always or Partial. Always injects the revision into all new Pods. Partial
	// injects it into the new Pods that updateStrategy keeps at the old version by paused,
	// selector or a percentage partition.
	// Defaults to Always.
	// +optional
	// +default="Always"
	Policy SidecarSetInjectRevisionPolicy `json:"policy,omitempty" protobuf:"bytes,3,opt,name=policy,casttype=SidecarSetInjectRevisionPolicy"`
}

// SidecarSetPatchPodMetadata is a set of annotations for the Pods. An administrator must allow their keys in the
// ConfigMap kruise-configuration.
type SidecarSetPatchPodMetadata struct {
	// annotations are the annotations to set. A key must not occur in two entries.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,1,rep,name=annotations"`

	// patchPolicy is Retain, Overwrite or MergePatchJson. It defines what happens if the Pod
	// already has the annotation. Retain keeps it, Overwrite replaces it, and MergePatchJson
	// merges the value into it as JSON (RFC 7396).
	// Defaults to Retain.
	// +optional
	// +default="Retain"
	PatchPolicy SidecarSetPatchPolicyType `json:"patchPolicy,omitempty" protobuf:"bytes,2,opt,name=patchPolicy,casttype=SidecarSetPatchPolicyType"`
}
