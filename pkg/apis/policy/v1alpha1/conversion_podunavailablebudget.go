package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/policy"
)

// KeptFieldsAnnotation contains, on an object served as v1alpha1, the fields that only v1beta1 has, so
// that a write through v1alpha1 does not lose them. Its value is JSON. It is set only if data would be
// lost, and it is never stored.
const KeptFieldsAnnotation = "policy.kruise.io/v1beta1-fields"

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptBudget is what v1alpha1 has no fields for.
type keptBudget struct {
	// Annotations are shown for fields, and are not the object's own.
	Annotations                map[string]string                      `json:"annotations,omitempty"`
	IgnoredPodSelector         *metav1.LabelSelector                  `json:"ignoredPodSelector,omitempty"`
	UnhealthyPodEvictionPolicy *policy.UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty"`
}

// Convert_v1alpha1_PodUnavailableBudget_To_policy_PodUnavailableBudget sets the fields that v1alpha1 has
// as annotations. It keeps the annotations for clients that use both versions.
func Convert_v1alpha1_PodUnavailableBudget_To_policy_PodUnavailableBudget(
	in *PodUnavailableBudget, out *policy.PodUnavailableBudget, s conversion.Scope,
) error {
	if err := autoConvert_v1alpha1_PodUnavailableBudget_To_policy_PodUnavailableBudget(in, out, s); err != nil {
		return err
	}
	var kept keptBudget
	out.Annotations, _ = annotation.Take(out.Annotations, KeptFieldsAnnotation, &kept)
	out.Spec.IgnoredPodSelector, out.Spec.UnhealthyPodEvictionPolicy = kept.IgnoredPodSelector, kept.UnhealthyPodEvictionPolicy
	annotation.ToFields(policy.Settings(), out, kept.Annotations)
	return nil
}

// Convert_policy_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget is the inverse.
func Convert_policy_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget(
	in *policy.PodUnavailableBudget, out *PodUnavailableBudget, s conversion.Scope,
) error {
	if err := autoConvert_policy_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget(in, out, s); err != nil {
		return err
	}
	kept := keptBudget{IgnoredPodSelector: in.Spec.IgnoredPodSelector, UnhealthyPodEvictionPolicy: in.Spec.UnhealthyPodEvictionPolicy}
	kept.Annotations = annotation.ToMetadata(policy.Settings(), in, out)
	if kept.Annotations == nil && kept.IgnoredPodSelector == nil && kept.UnhealthyPodEvictionPolicy == nil {
		return nil
	}
	var err error
	out.Annotations, err = annotation.Keep(out.Annotations, KeptFieldsAnnotation, kept)
	return err
}

// Convert_policy_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec skips the fields that
// v1alpha1 has as annotations.
func Convert_policy_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec(
	in *policy.PodUnavailableBudgetSpec, out *PodUnavailableBudgetSpec, s conversion.Scope,
) error {
	return autoConvert_policy_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec(in, out, s)
}
