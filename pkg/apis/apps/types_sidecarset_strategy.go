package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// SidecarSetUpdateStrategyType says whether Pods that exist are upgraded.
type SidecarSetUpdateStrategyType string

const (
	// RollingUpdateSidecarSetStrategyType upgrades Pods step by step.
	RollingUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "RollingUpdate"
	// NotUpdateSidecarSetStrategyType upgrades no Pods: only new ones get what is new.
	NotUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "NotUpdate"
)

// SidecarSetInjectRevisionPolicy says which new Pods get a stored revision.
type SidecarSetInjectRevisionPolicy string

const (
	// AlwaysSidecarSetInjectRevisionPolicy gives it to all of them.
	AlwaysSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Always"
	// PartialSidecarSetInjectRevisionPolicy gives it to those that updateStrategy would keep on the old version.
	PartialSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Partial"
)

// SidecarSetPatchPolicyType says what happens to an annotation that a Pod has already.
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
	Type             SidecarSetUpdateStrategyType
	Paused           bool
	Selector         *metav1.LabelSelector
	Partition        *intstr.IntOrString
	MaxUnavailable   *intstr.IntOrString
	PriorityStrategy *pub.UpdatePriorityStrategy
	ScatterStrategy  []pub.UpdateScatterTerm
}

// SidecarSetInjectionStrategy says what new Pods get.
type SidecarSetInjectionStrategy struct {
	Paused   bool
	Revision *SidecarSetInjectRevision
}

// SidecarSetInjectRevision names a stored revision. customVersion, revisionName or both must
// be set; revisionName wins.
type SidecarSetInjectRevision struct {
	CustomVersion *string
	RevisionName  *string
	Policy        SidecarSetInjectRevisionPolicy
}

// SidecarSetPatchPodMetadata is annotations that the Pods get. An administrator allows their
// keys in the ConfigMap kruise-configuration.
type SidecarSetPatchPodMetadata struct {
	Annotations map[string]string
	PatchPolicy SidecarSetPatchPolicyType
}
