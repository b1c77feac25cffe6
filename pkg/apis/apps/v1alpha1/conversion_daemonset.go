package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// Convert_v1alpha1_DaemonSet_To_apps_DaemonSet moves the annotation DaemonSetProgressiveCreatePodKey into
// its field. A value other than "true" has no effect and stays in the annotation.
func Convert_v1alpha1_DaemonSet_To_apps_DaemonSet(in *DaemonSet, out *apps.DaemonSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_DaemonSet_To_apps_DaemonSet(in, out, s); err != nil {
		return err
	}
	if in.Annotations[pub.DaemonSetProgressiveCreatePodKey] == "true" {
		out.Spec.ScaleStrategy.PartitionedScaling = true
		out.Annotations = without(out.Annotations, pub.DaemonSetProgressiveCreatePodKey)
	}
	return nil
}

// Convert_apps_DaemonSet_To_v1alpha1_DaemonSet is the inverse. The hub's field decides about the
// annotation.
func Convert_apps_DaemonSet_To_v1alpha1_DaemonSet(in *apps.DaemonSet, out *DaemonSet, s conversion.Scope) error {
	if err := autoConvert_apps_DaemonSet_To_v1alpha1_DaemonSet(in, out, s); err != nil {
		return err
	}
	switch annotated := out.Annotations[pub.DaemonSetProgressiveCreatePodKey] == "true"; {
	case in.Spec.ScaleStrategy.PartitionedScaling:
		out.Annotations = with(out.Annotations, pub.DaemonSetProgressiveCreatePodKey, "true")
	case annotated:
		out.Annotations = without(out.Annotations, pub.DaemonSetProgressiveCreatePodKey)
	}
	return nil
}

// Convert_apps_DaemonSetSpec_To_v1alpha1_DaemonSetSpec skips the field that v1alpha1 has as an annotation.
func Convert_apps_DaemonSetSpec_To_v1alpha1_DaemonSetSpec(in *apps.DaemonSetSpec, out *DaemonSetSpec, s conversion.Scope) error {
	return autoConvert_apps_DaemonSetSpec_To_v1alpha1_DaemonSetSpec(in, out, s)
}

// Convert_v1alpha1_DaemonSetStatus_To_apps_DaemonSetStatus renames the hash.
func Convert_v1alpha1_DaemonSetStatus_To_apps_DaemonSetStatus(in *DaemonSetStatus, out *apps.DaemonSetStatus, s conversion.Scope) error {
	out.UpdateRevision = in.DaemonSetHash
	return autoConvert_v1alpha1_DaemonSetStatus_To_apps_DaemonSetStatus(in, out, s)
}

// Convert_apps_DaemonSetStatus_To_v1alpha1_DaemonSetStatus is the inverse.
func Convert_apps_DaemonSetStatus_To_v1alpha1_DaemonSetStatus(in *apps.DaemonSetStatus, out *DaemonSetStatus, s conversion.Scope) error {
	out.DaemonSetHash = in.UpdateRevision
	return autoConvert_apps_DaemonSetStatus_To_v1alpha1_DaemonSetStatus(in, out, s)
}
