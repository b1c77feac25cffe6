package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// Convert_v1alpha1_SidecarSet_To_apps_SidecarSet makes a field of the label that holds the
// custom version. A namespace beside a selector for its name is dropped: a client that writes this selector reads the
// namespace until then, and must be able to change the selector later.
func Convert_v1alpha1_SidecarSet_To_apps_SidecarSet(in *SidecarSet, out *apps.SidecarSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_SidecarSet_To_apps_SidecarSet(in, out, s); err != nil {
		return err
	}
	if version := in.Labels[pub.SidecarSetCustomVersionKey]; version != "" {
		out.Spec.CustomVersion = version
		out.Labels = without(out.Labels, pub.SidecarSetCustomVersionKey)
	}
	if apps.SelectedNamespace(in.Spec.NamespaceSelector) == in.Spec.Namespace {
		out.Spec.Namespace = ""
	}
	return nil
}

// Convert_apps_SidecarSet_To_v1alpha1_SidecarSet is the inverse. The hub's field decides about
// the label.
func Convert_apps_SidecarSet_To_v1alpha1_SidecarSet(in *apps.SidecarSet, out *SidecarSet, s conversion.Scope) error {
	if err := autoConvert_apps_SidecarSet_To_v1alpha1_SidecarSet(in, out, s); err != nil {
		return err
	}
	switch {
	case in.Spec.CustomVersion != "":
		out.Labels = with(out.Labels, pub.SidecarSetCustomVersionKey, in.Spec.CustomVersion)
	case out.Labels[pub.SidecarSetCustomVersionKey] != "":
		out.Labels = without(out.Labels, pub.SidecarSetCustomVersionKey)
	}
	return nil
}

// Convert_apps_SidecarSetSpec_To_v1alpha1_SidecarSetSpec leaves customVersion to the label.
func Convert_apps_SidecarSetSpec_To_v1alpha1_SidecarSetSpec(in *apps.SidecarSetSpec, out *SidecarSetSpec, s conversion.Scope) error {
	return autoConvert_apps_SidecarSetSpec_To_v1alpha1_SidecarSetSpec(in, out, s)
}
