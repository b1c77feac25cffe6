package v1alpha1

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptCloneSet is the part of updateStrategy that v1alpha1 has no fields for: with type OnDelete, it
// cannot express a policy or an empty rollingUpdate. It counts only while spec.updateStrategy.type has not
// changed since the annotation was written. A changed type replaces it.
type keptCloneSet struct {
	// V1alpha1Type is spec.updateStrategy.type as v1alpha1 showed it.
	V1alpha1Type string `json:"v1alpha1Type"`
	// Type is spec.updateStrategy.type of v1beta1.
	Type apps.CloneSetUpdateStrategyType `json:"type"`
	// RollingUpdate is nil when v1beta1 has no such block.
	RollingUpdate *keptRollingUpdate `json:"rollingUpdate,omitempty"`
}

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptRollingUpdate says that the block is there, and its policy.
type keptRollingUpdate struct {
	PodUpdatePolicy pub.PodUpdatePolicyType `json:"podUpdatePolicy"`
}

// keepCloneSet writes the annotation when the way back would lose something.
func keepCloneSet(in *apps.CloneSet, out *CloneSet, s conversion.Scope) error {
	back := &apps.CloneSetUpdateStrategy{}
	if err := Convert_v1alpha1_CloneSetUpdateStrategy_To_apps_CloneSetUpdateStrategy(&out.Spec.UpdateStrategy, back, s); err != nil {
		return err
	}
	want := keptCloneSetOf(string(out.Spec.UpdateStrategy.Type), &in.Spec.UpdateStrategy)
	if apiequality.Semantic.DeepEqual(want, keptCloneSetOf(want.V1alpha1Type, back)) {
		return nil
	}
	var err error
	out.Annotations, err = withKept(out.Annotations, want)
	return err
}

func keptCloneSetOf(shown string, in *apps.CloneSetUpdateStrategy) keptCloneSet {
	kept := keptCloneSet{V1alpha1Type: shown, Type: in.Type}
	if in.RollingUpdate != nil {
		kept.RollingUpdate = &keptRollingUpdate{PodUpdatePolicy: in.RollingUpdate.PodUpdatePolicy}
	}
	return kept
}

// restoreCloneSet restores what keepCloneSet wrote and removes the annotation.
func restoreCloneSet(shown string, out *apps.CloneSet) {
	var (
		kept  keptCloneSet
		found bool
	)
	if out.Annotations, found = takeKept(out.Annotations, &kept); !found || kept.V1alpha1Type != shown {
		return
	}
	strategy := &out.Spec.UpdateStrategy
	strategy.Type = kept.Type
	if kept.RollingUpdate == nil {
		return
	}
	if strategy.RollingUpdate == nil {
		strategy.RollingUpdate = &apps.RollingUpdateCloneSetStrategy{}
	}
	strategy.RollingUpdate.PodUpdatePolicy = kept.RollingUpdate.PodUpdatePolicy
}
