package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// SidecarSetUpdateStrategyType says whether Pods that exist are upgraded.
// +enum
//
// The empty value stands for the default.
type SidecarSetUpdateStrategyType string

const (
	// RollingUpdateSidecarSetStrategyType upgrades Pods step by step.
	RollingUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "RollingUpdate"
	// NotUpdateSidecarSetStrategyType upgrades no Pods: only new ones get what is new.
	NotUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "NotUpdate"
)

// SidecarSetInjectRevisionPolicy says which new Pods get a stored revision.
// +enum
//
// The empty value stands for the default.
type SidecarSetInjectRevisionPolicy string

const (
	// AlwaysSidecarSetInjectRevisionPolicy gives it to all of them.
	AlwaysSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Always"
	// PartialSidecarSetInjectRevisionPolicy gives it to those that updateStrategy would keep on the old version.
	PartialSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Partial"
)

// SidecarSetPatchPolicyType says what happens to an annotation that a Pod has already.
// +enum
//
// The empty value stands for the default.
type SidecarSetPatchPolicyType string

const (
	// SidecarSetRetainPatchPolicy leaves it alone.
	SidecarSetRetainPatchPolicy SidecarSetPatchPolicyType = "Retain"
	// SidecarSetOverwritePatchPolicy replaces it.
	SidecarSetOverwritePatchPolicy SidecarSetPatchPolicyType = "Overwrite"
	// SidecarSetMergePatchJSONPatchPolicy merges the two as JSON.
	SidecarSetMergePatchJSONPatchPolicy SidecarSetPatchPolicyType = "MergePatchJson"
)

// SidecarSetUpdateStrategy says how Pods that have the containers come to new images.
type SidecarSetUpdateStrategy struct {
	// type is RollingUpdate or NotUpdate. RollingUpdate changes images in Pods step by step.
	// NotUpdate leaves Pods alone: only new ones get what is new.
	// Defaults to RollingUpdate.
	// +optional
	// +default="RollingUpdate"
	Type SidecarSetUpdateStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=SidecarSetUpdateStrategyType"`

	// paused stops the upgrade of Pods. New Pods still get the containers.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,2,opt,name=paused"`

	// selector limits the upgrade to Pods with these labels. It must not be empty when it is
	// set, and excludes partition. Unset means all Pods.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,3,opt,name=selector"`

	// partition is how many Pods stay at the old version. A number, or a percentage of the
	// matched Pods, rounded up, like "90%". With more than one Pod only 100% keeps all.
	// Defaults to 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty" protobuf:"bytes,4,opt,name=partition"`

	// maxUnavailable is how many upgraded Pods may be not ready at a time. A number, or a
	// percentage of the matched Pods, rounded up, like "20%". With 0, no ready Pod is
	// upgraded.
	// Defaults to 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,5,opt,name=maxUnavailable"`

	// priorityStrategy says which Pods are upgraded first.
	// +optional
	PriorityStrategy *pub.UpdatePriorityStrategy `json:"priorityStrategy,omitempty" protobuf:"bytes,6,opt,name=priorityStrategy"`

	// scatterStrategy spreads the Pods that have one of these labels evenly over the upgrade.
	// The value "*" stands for every value of the label.
	// +optional
	// +listType=atomic
	ScatterStrategy []pub.UpdateScatterTerm `json:"scatterStrategy,omitempty" protobuf:"bytes,7,rep,name=scatterStrategy"`
}

// SidecarSetInjectionStrategy says what new Pods get.
type SidecarSetInjectionStrategy struct {
	// paused gives new Pods nothing. Pods that have the containers are still upgraded.
	// Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,1,opt,name=paused"`

	// revision gives new Pods a stored revision instead of what the SidecarSet holds now.
	// +optional
	Revision *SidecarSetInjectRevision `json:"revision,omitempty" protobuf:"bytes,2,opt,name=revision"`
}

// SidecarSetInjectRevision names a stored revision. customVersion, revisionName or both must
// be set; revisionName wins.
type SidecarSetInjectRevision struct {
	// customVersion names a revision by the label apps.kruise.io/sidecarset-custom-version that the
	// SidecarSet had. Of several, the newest counts.
	// +optional
	CustomVersion *string `json:"customVersion,omitempty" protobuf:"bytes,1,opt,name=customVersion"`

	// revisionName names a revision by its ControllerRevision.
	// +optional
	RevisionName *string `json:"revisionName,omitempty" protobuf:"bytes,2,opt,name=revisionName"`

	// policy is Always or Partial. Always gives the revision to all new Pods. Partial gives it
	// to those that updateStrategy, with paused, selector or partition as a percentage, would
	// keep at the old version.
	// Defaults to Always.
	// +optional
	// +default="Always"
	Policy SidecarSetInjectRevisionPolicy `json:"policy,omitempty" protobuf:"bytes,3,opt,name=policy,casttype=SidecarSetInjectRevisionPolicy"`
}

// SidecarSetPatchPodMetadata is annotations that the Pods get. An administrator allows their
// keys in the ConfigMap kruise-configuration.
type SidecarSetPatchPodMetadata struct {
	// annotations are the annotations. No key may be in another entry too.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,1,rep,name=annotations"`

	// patchPolicy is Retain, Overwrite or MergePatchJson: what happens when the Pod has the
	// annotation already. Retain leaves it alone, Overwrite replaces it, and MergePatchJson
	// merges the value into it as JSON (RFC 7396).
	// Defaults to Retain.
	// +optional
	// +default="Retain"
	PatchPolicy SidecarSetPatchPolicyType `json:"patchPolicy,omitempty" protobuf:"bytes,2,opt,name=patchPolicy,casttype=SidecarSetPatchPolicyType"`
}
