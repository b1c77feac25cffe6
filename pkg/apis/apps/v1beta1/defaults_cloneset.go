package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// SetDefaults_CloneSetUpdateStrategy gives a rolling update its block of settings. An
// OnDelete strategy keeps the block that it has, and gets none.
func SetDefaults_CloneSetUpdateStrategy(in *CloneSetUpdateStrategy) {
	if in.Type == "" {
		in.Type = RollingUpdateCloneSetStrategyType
	}
	if in.Type == RollingUpdateCloneSetStrategyType && in.RollingUpdate == nil {
		in.RollingUpdate = &RollingUpdateCloneSetStrategy{}
	}
}

// SetDefaults_RollingUpdateCloneSetStrategy fills the block of settings.
func SetDefaults_RollingUpdateCloneSetStrategy(in *RollingUpdateCloneSetStrategy) {
	if in.PodUpdatePolicy == "" {
		in.PodUpdatePolicy = pub.ReCreatePodUpdatePolicy
	}
	if in.Partition == nil {
		in.Partition = &intstr.IntOrString{Type: intstr.Int}
	}
	if in.MaxUnavailable == nil {
		in.MaxUnavailable = &intstr.IntOrString{Type: intstr.String, StrVal: "20%"}
	}
	if in.MaxSurge == nil {
		in.MaxSurge = &intstr.IntOrString{Type: intstr.Int}
	}
	inPlace := in.PodUpdatePolicy == pub.InPlaceIfPossiblePodUpdatePolicy || in.PodUpdatePolicy == pub.InPlaceOnlyPodUpdatePolicy
	if inPlace && in.InPlaceUpdateStrategy == nil {
		in.InPlaceUpdateStrategy = &InPlaceUpdateStrategy{}
	}
}
