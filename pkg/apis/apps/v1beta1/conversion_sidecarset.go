package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/apps"
)

// KeptFieldsAnnotation contains the data that only v1alpha1 can express, so that v1alpha1 returns an
// object as it was written. Its value is JSON, a kept type of the kind. It is set only if data would be
// lost.
const KeptFieldsAnnotation = "apps.kruise.io/v1alpha1-fields"

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptSidecarSet means that v1alpha1 has a namespace where v1beta1 has a selector for its name. It is used
// only while that selector is unchanged: a changed selector replaces it.
type keptSidecarSet struct {
	// Namespace is spec.namespace of v1alpha1.
	Namespace string `json:"namespace"`
	// NamespaceSelector is its spec.namespaceSelector. Both together are refused to users.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// Convert_apps_SidecarSet_To_v1beta1_SidecarSet shows a namespace as a selector for its name.
func Convert_apps_SidecarSet_To_v1beta1_SidecarSet(in *apps.SidecarSet, out *SidecarSet, s conversion.Scope) error {
	if err := autoConvert_apps_SidecarSet_To_v1beta1_SidecarSet(in, out, s); err != nil {
		return err
	}
	if in.Spec.Namespace == "" {
		return nil
	}
	kept := keptSidecarSet{Namespace: in.Spec.Namespace, NamespaceSelector: in.Spec.NamespaceSelector}
	out.Spec.NamespaceSelector = selectNamespace(in.Spec.Namespace)
	var err error
	out.Annotations, err = annotation.Keep(out.Annotations, KeptFieldsAnnotation, kept)
	return err
}

// Convert_v1beta1_SidecarSet_To_apps_SidecarSet is the inverse.
func Convert_v1beta1_SidecarSet_To_apps_SidecarSet(in *SidecarSet, out *apps.SidecarSet, s conversion.Scope) error {
	if err := autoConvert_v1beta1_SidecarSet_To_apps_SidecarSet(in, out, s); err != nil {
		return err
	}
	var (
		kept  keptSidecarSet
		found bool
	)
	if out.Annotations, found = annotation.Take(out.Annotations, KeptFieldsAnnotation, &kept); !found || kept.Namespace == "" {
		return nil
	}
	if apiequality.Semantic.DeepEqual(in.Spec.NamespaceSelector, selectNamespace(kept.Namespace)) {
		out.Spec.Namespace, out.Spec.NamespaceSelector = kept.Namespace, kept.NamespaceSelector
	}
	return nil
}

// Convert_apps_SidecarSetSpec_To_v1beta1_SidecarSetSpec leaves the namespace to the conversion of
// the SidecarSet.
func Convert_apps_SidecarSetSpec_To_v1beta1_SidecarSetSpec(in *apps.SidecarSetSpec, out *SidecarSetSpec, s conversion.Scope) error {
	return autoConvert_apps_SidecarSetSpec_To_v1beta1_SidecarSetSpec(in, out, s)
}

func selectNamespace(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
}
