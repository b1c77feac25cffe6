package v1alpha1

import (
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// SetDefaults_BroadcastJobSpec fills the fields of a BroadcastJob. It covers the whole spec so
// that nothing here touches the template: a template is defaulted when a user writes it, never
// when it is read.
// +k8s:defaulter-gen=covers
func SetDefaults_BroadcastJobSpec(in *BroadcastJobSpec) {
	if in.Parallelism == nil {
		in.Parallelism = new(intstr.FromInt32(math.MaxInt32))
	}
	SetDefaults_CompletionPolicy(&in.CompletionPolicy)
	if in.FailurePolicy.Type == "" {
		in.FailurePolicy.Type = FailurePolicyTypeFailFast
	}
}
