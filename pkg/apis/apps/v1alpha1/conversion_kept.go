package v1alpha1

import (
	"encoding/json"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// KeptFieldsAnnotation holds, on an object shown as v1alpha1, what only v1beta1 can say,
// so that a write through v1alpha1 does not lose it. Its value is JSON of keptFields. It
// counts only while spec.updateStrategy.type is what it was when the annotation was
// written: whoever changes the type has decided anew. It is never stored.
const KeptFieldsAnnotation = "apps.kruise.io/v1beta1-fields"

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptFields is the part of updateStrategy that v1alpha1 has no fields for: beside type
// OnDelete it cannot say a policy, nor that rollingUpdate is there and empty.
type keptFields struct {
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

// keep writes the annotation when the way back would lose something.
func keep(in *apps.CloneSet, out *CloneSet, s conversion.Scope) error {
	back := &apps.CloneSetUpdateStrategy{}
	if err := Convert_v1alpha1_CloneSetUpdateStrategy_To_apps_CloneSetUpdateStrategy(&out.Spec.UpdateStrategy, back, s); err != nil {
		return err
	}
	want := keptOf(string(out.Spec.UpdateStrategy.Type), &in.Spec.UpdateStrategy)
	if apiequality.Semantic.DeepEqual(want, keptOf(want.V1alpha1Type, back)) {
		return nil
	}
	text, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("write annotation %s: %w", KeptFieldsAnnotation, err)
	}
	out.Annotations = with(out.Annotations, KeptFieldsAnnotation, string(text))
	return nil
}

func keptOf(shown string, in *apps.CloneSetUpdateStrategy) keptFields {
	kept := keptFields{V1alpha1Type: shown, Type: in.Type}
	if in.RollingUpdate != nil {
		kept.RollingUpdate = &keptRollingUpdate{PodUpdatePolicy: in.RollingUpdate.PodUpdatePolicy}
	}
	return kept
}

// restoreKept puts back what keep wrote and takes the annotation away. A text that is not
// ours is left as it is.
func restoreKept(shown string, out *apps.CloneSet) {
	text, found := out.Annotations[KeptFieldsAnnotation]
	kept := keptFields{}
	if !found || json.Unmarshal([]byte(text), &kept) != nil {
		return
	}
	out.Annotations = without(out.Annotations, KeptFieldsAnnotation)
	if kept.V1alpha1Type != shown {
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
