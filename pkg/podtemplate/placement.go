package podtemplate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// ValidateNodeSelectorTerm runs core's rules for a term of a Pod's required node affinity. Values of labels that are not valid
// are refused.
func ValidateNodeSelectorTerm(term *corev1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	converted := core.NodeSelectorTerm{}
	if err := corev1conversion.Convert_v1_NodeSelectorTerm_To_core_NodeSelectorTerm(term.DeepCopy(), &converted, nil); err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("convert node selector term: %w", err))}
	}
	return corevalidation.ValidateNodeSelectorTerm(converted, false, path)
}

// ValidatePreferredSchedulingTerms runs core's rules for a Pod's preferred node affinity.
func ValidatePreferredSchedulingTerms(terms []corev1.PreferredSchedulingTerm, path *field.Path) field.ErrorList {
	converted := make([]core.PreferredSchedulingTerm, len(terms))
	for i := range terms {
		err := corev1conversion.Convert_v1_PreferredSchedulingTerm_To_core_PreferredSchedulingTerm(terms[i].DeepCopy(), &converted[i], nil)
		if err != nil {
			return field.ErrorList{field.InternalError(path.Index(i), fmt.Errorf("convert scheduling term: %w", err))}
		}
	}
	return corevalidation.ValidatePreferredSchedulingTerms(converted, path)
}

// ValidateTolerations runs core's rules for a Pod's tolerations.
func ValidateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	converted := make([]core.Toleration, len(tolerations))
	for i := range tolerations {
		if err := corev1conversion.Convert_v1_Toleration_To_core_Toleration(tolerations[i].DeepCopy(), &converted[i], nil); err != nil {
			return field.ErrorList{field.InternalError(path.Index(i), fmt.Errorf("convert toleration: %w", err))}
		}
	}
	return corevalidation.ValidateTolerations(converted, path, pod.GetValidationOptionsFromPodTemplate(&core.PodTemplateSpec{}, nil))
}
