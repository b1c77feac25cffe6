package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/pub"
)

// SetDefaults_CloneSetSpec fills the fields of a CloneSet. It covers the whole spec so that nothing here
// touches the template: a template is defaulted when a user writes it, never when it is read. Otherwise, a
// newer server would change existing Pods.
// +k8s:defaulter-gen=covers
func SetDefaults_CloneSetSpec(in *CloneSetSpec) {
	if in.Replicas == nil {
		in.Replicas = ptr.To[int32](1)
	}
	if in.RevisionHistoryLimit == nil {
		in.RevisionHistoryLimit = ptr.To[int32](10)
	}
	SetDefaults_CloneSetUpdateStrategy(&in.UpdateStrategy)
}

// SetDefaults_CloneSetUpdateStrategy gives a rolling update its block of settings. An
// OnDelete strategy gets no block, but missing settings of a given block get defaults. Fields
// of v1alpha1 are moved to the block first, so that only missing settings get defaults.
func SetDefaults_CloneSetUpdateStrategy(in *CloneSetUpdateStrategy) {
	*in = in.inV1beta1Form()
	if in.Type == "" {
		in.Type = RollingUpdateCloneSetStrategyType
	}
	if in.Type == RollingUpdateCloneSetStrategyType && in.RollingUpdate == nil {
		in.RollingUpdate = &RollingUpdateCloneSetStrategy{}
	}
	if in.RollingUpdate != nil {
		SetDefaults_RollingUpdateCloneSetStrategy(in.RollingUpdate)
	}
}

// SetDefaults_RollingUpdateCloneSetStrategy fills the block of settings.
func SetDefaults_RollingUpdateCloneSetStrategy(in *RollingUpdateCloneSetStrategy) {
	if in.PodUpdatePolicy == "" {
		in.PodUpdatePolicy = pub.ReCreatePodUpdatePolicy
	}
	if in.Partition == nil {
		in.Partition = new(intstr.FromInt32(0))
	}
	if in.MaxUnavailable == nil {
		in.MaxUnavailable = new(intstr.FromString("20%"))
	}
	if in.MaxSurge == nil {
		in.MaxSurge = new(intstr.FromInt32(0))
	}
	inPlace := in.PodUpdatePolicy == pub.InPlaceIfPossiblePodUpdatePolicy || in.PodUpdatePolicy == pub.InPlaceOnlyPodUpdatePolicy
	if inPlace && in.InPlaceUpdateStrategy == nil {
		in.InPlaceUpdateStrategy = &InPlaceUpdateStrategy{}
	}
}
