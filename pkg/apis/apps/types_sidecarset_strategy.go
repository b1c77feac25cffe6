package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// SidecarSetUpdateStrategyType defines whether existing Pods are upgraded.
type SidecarSetUpdateStrategyType string

const (
	// RollingUpdateSidecarSetStrategyType upgrades Pods gradually.
	RollingUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "RollingUpdate"
	// NotUpdateSidecarSetStrategyType does not upgrade existing Pods: changes apply only to
	// new Pods.
	NotUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "NotUpdate"
)

// SidecarSetInjectRevisionPolicy defines which new Pods get a stored revision.
type SidecarSetInjectRevisionPolicy string

const (
	// AlwaysSidecarSetInjectRevisionPolicy gives it to all of them.
	AlwaysSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Always"
	// PartialSidecarSetInjectRevisionPolicy gives it to the Pods that updateStrategy keeps
	// at the old version.
	PartialSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Partial"
)

// SidecarSetPatchPolicyType defines what happens to an annotation that a Pod already has.
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
	Type             SidecarSetUpdateStrategyType
	Paused           bool
	Selector         *metav1.LabelSelector
	Partition        *intstr.IntOrString
	MaxUnavailable   *intstr.IntOrString
	PriorityStrategy *pub.UpdatePriorityStrategy
	ScatterStrategy  []pub.UpdateScatterTerm
}

// SidecarSetInjectionStrategy defines what is added to new Pods.
type SidecarSetInjectionStrategy struct {
	Paused   bool
	Revision *SidecarSetInjectRevision
}

// SidecarSetInjectRevision names a stored revision. customVersion, revisionName or both must be set. revisionName takes
// precedence.
type SidecarSetInjectRevision struct {
	CustomVersion *string
	RevisionName  *string
	Policy        SidecarSetInjectRevisionPolicy
}

// SidecarSetPatchPodMetadata is a set of annotations for the Pods. An administrator must allow their keys in the
// ConfigMap kruise-configuration.
type SidecarSetPatchPodMetadata struct {
	Annotations map[string]string
	PatchPolicy SidecarSetPatchPolicyType
}
