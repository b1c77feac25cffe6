package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/apps"
)

// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
// +protobuf=false
//
// keptSidecarSet is what a write through v1alpha1 must not store.
type keptSidecarSet struct {
	// Shown is the label that is shown for a field, and is not the object's own.
	Shown map[string]string `json:"shown,omitempty"`
}

// Convert_v1alpha1_SidecarSet_To_apps_SidecarSet sets the field that v1alpha1 has as a label: the custom version.
// The label stays. A namespace beside a selector for its name is dropped: a client that writes this selector reads
// the namespace until then, and must be able to change the selector later.
func Convert_v1alpha1_SidecarSet_To_apps_SidecarSet(in *SidecarSet, out *apps.SidecarSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_SidecarSet_To_apps_SidecarSet(in, out, s); err != nil {
		return err
	}
	var kept keptSidecarSet
	out.Annotations, _ = takeKept(out.Annotations, &kept)
	annotation.ToFields(apps.SidecarSetSettings(), out, kept.Shown)
	if apps.SelectedNamespace(in.Spec.NamespaceSelector) == in.Spec.Namespace {
		out.Spec.Namespace = ""
	}
	return nil
}

// Convert_apps_SidecarSet_To_v1alpha1_SidecarSet is the inverse. The hub's field decides about the label.
func Convert_apps_SidecarSet_To_v1alpha1_SidecarSet(in *apps.SidecarSet, out *SidecarSet, s conversion.Scope) error {
	if err := autoConvert_apps_SidecarSet_To_v1alpha1_SidecarSet(in, out, s); err != nil {
		return err
	}
	shown := annotation.ToMetadata(apps.SidecarSetSettings(), in, out)
	if shown == nil {
		return nil
	}
	var err error
	out.Annotations, err = withKept(out.Annotations, keptSidecarSet{Shown: shown})
	return err
}

// Convert_apps_SidecarSetSpec_To_v1alpha1_SidecarSetSpec leaves customVersion to the label.
func Convert_apps_SidecarSetSpec_To_v1alpha1_SidecarSetSpec(in *apps.SidecarSetSpec, out *SidecarSetSpec, s conversion.Scope) error {
	return autoConvert_apps_SidecarSetSpec_To_v1alpha1_SidecarSetSpec(in, out, s)
}
