package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/pub"
)

// SetDefaults_CloneSetUpdateStrategy fills the strategy. OnDelete is filled only when it
// sets something itself, as v1beta1 does with its block rollingUpdate.
func SetDefaults_CloneSetUpdateStrategy(in *CloneSetUpdateStrategy) {
	if in.Type == "" {
		in.Type = RecreateCloneSetUpdateStrategyType
	}
	if in.Type == OnDeleteCloneSetUpdateStrategyType && !in.tuned() {
		return
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
	inPlace := in.Type == InPlaceIfPossibleCloneSetUpdateStrategyType || in.Type == InPlaceOnlyCloneSetUpdateStrategyType
	if inPlace && in.InPlaceUpdateStrategy == nil {
		in.InPlaceUpdateStrategy = &pub.InPlaceUpdateStrategy{}
	}
}
