package v1beta1

import (
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
// keptSidecarSet is what v1alpha1 has in place of the namespace selector of v1beta1. v1alpha1 shows a selector for the
// name of a namespace as a namespace, so this is kept if v1alpha1 has the selector itself. It is used only while the
// selector of v1beta1 is unchanged: a changed selector replaces it.
type keptSidecarSet struct {
	// Namespace is spec.namespace of v1alpha1.
	Namespace string `json:"namespace,omitempty"`
	// NamespaceSelector is its spec.namespaceSelector. Both together are refused to users.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// inV1beta1 is the namespace selector that v1beta1 shows.
func (k *keptSidecarSet) inV1beta1() *metav1.LabelSelector {
	if k.Namespace != "" {
		return apps.SelectNamespace(k.Namespace)
	}
	return k.NamespaceSelector
}

// inV1alpha1 is what v1alpha1 shows of the namespace selector of v1beta1 if nothing is kept.
func inV1alpha1(selector *metav1.LabelSelector) keptSidecarSet {
	if name := apps.SelectedNamespace(selector); name != "" {
		return keptSidecarSet{Namespace: name}
	}
	return keptSidecarSet{NamespaceSelector: selector}
}

// Convert_apps_SidecarSet_To_v1beta1_SidecarSet shows a namespace as a selector for its name.
func Convert_apps_SidecarSet_To_v1beta1_SidecarSet(in *apps.SidecarSet, out *SidecarSet, s conversion.Scope) error {
	if err := autoConvert_apps_SidecarSet_To_v1beta1_SidecarSet(in, out, s); err != nil {
		return err
	}
	shown := keptSidecarSet{Namespace: in.Spec.Namespace, NamespaceSelector: in.Spec.NamespaceSelector}
	out.Spec.NamespaceSelector = shown.inV1beta1()
	if apiequality.Semantic.DeepEqual(shown, inV1alpha1(out.Spec.NamespaceSelector)) {
		return nil
	}
	var err error
	out.Annotations, err = annotation.Keep(out.Annotations, KeptFieldsAnnotation, shown)
	return err
}

// Convert_v1beta1_SidecarSet_To_apps_SidecarSet is the inverse. A namespace, the field of v1alpha1, replaces the
// selector: this version never shows it, so the writer has set it now.
func Convert_v1beta1_SidecarSet_To_apps_SidecarSet(in *SidecarSet, out *apps.SidecarSet, s conversion.Scope) error {
	if err := autoConvert_v1beta1_SidecarSet_To_apps_SidecarSet(in, out, s); err != nil {
		return err
	}
	var (
		kept  keptSidecarSet
		found bool
	)
	out.Annotations, found = annotation.Take(out.Annotations, KeptFieldsAnnotation, &kept)
	switch {
	case in.Spec.Namespace != "":
		kept = keptSidecarSet{Namespace: in.Spec.Namespace}
	case !found || !apiequality.Semantic.DeepEqual(in.Spec.NamespaceSelector, kept.inV1beta1()):
		kept = inV1alpha1(in.Spec.NamespaceSelector)
	}
	out.Spec.Namespace, out.Spec.NamespaceSelector = kept.Namespace, kept.NamespaceSelector
	return nil
}

// Convert_apps_SidecarSetSpec_To_v1beta1_SidecarSetSpec leaves the namespace to the conversion of
// the SidecarSet.
func Convert_apps_SidecarSetSpec_To_v1beta1_SidecarSetSpec(in *apps.SidecarSetSpec, out *SidecarSetSpec, s conversion.Scope) error {
	err := autoConvert_apps_SidecarSetSpec_To_v1beta1_SidecarSetSpec(in, out, s)
	out.Namespace = ""
	return err
}
