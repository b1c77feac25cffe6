package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1alpha1_ResourceDistributionSpec_To_apps_ResourceDistributionSpec normalizes the resource.
func Convert_v1alpha1_ResourceDistributionSpec_To_apps_ResourceDistributionSpec(
	in *ResourceDistributionSpec, out *apps.ResourceDistributionSpec, s conversion.Scope,
) error {
	if err := autoConvert_v1alpha1_ResourceDistributionSpec_To_apps_ResourceDistributionSpec(in, out, s); err != nil {
		return err
	}
	out.Resource = apps.CanonicalRaw(in.Resource)
	return nil
}

// Convert_v1alpha1_ResourceDistributionTargets_To_apps_ResourceDistributionTargets renames a field.
func Convert_v1alpha1_ResourceDistributionTargets_To_apps_ResourceDistributionTargets(
	in *ResourceDistributionTargets, out *apps.ResourceDistributionTargets, s conversion.Scope,
) error {
	out.NamespaceSelector = in.NamespaceLabelSelector
	return autoConvert_v1alpha1_ResourceDistributionTargets_To_apps_ResourceDistributionTargets(in, out, s)
}

// Convert_apps_ResourceDistributionTargets_To_v1alpha1_ResourceDistributionTargets is the inverse.
func Convert_apps_ResourceDistributionTargets_To_v1alpha1_ResourceDistributionTargets(
	in *apps.ResourceDistributionTargets, out *ResourceDistributionTargets, s conversion.Scope,
) error {
	out.NamespaceLabelSelector = in.NamespaceSelector
	return autoConvert_apps_ResourceDistributionTargets_To_v1alpha1_ResourceDistributionTargets(in, out, s)
}

// Convert_v1alpha1_ResourceDistributionCondition_To_apps_ResourceDistributionCondition renames a field.
func Convert_v1alpha1_ResourceDistributionCondition_To_apps_ResourceDistributionCondition(
	in *ResourceDistributionCondition, out *apps.ResourceDistributionCondition, s conversion.Scope,
) error {
	out.FailedNamespaces = in.FailedNamespace
	return autoConvert_v1alpha1_ResourceDistributionCondition_To_apps_ResourceDistributionCondition(in, out, s)
}

// Convert_apps_ResourceDistributionCondition_To_v1alpha1_ResourceDistributionCondition is the inverse.
func Convert_apps_ResourceDistributionCondition_To_v1alpha1_ResourceDistributionCondition(
	in *apps.ResourceDistributionCondition, out *ResourceDistributionCondition, s conversion.Scope,
) error {
	out.FailedNamespace = in.FailedNamespaces
	return autoConvert_apps_ResourceDistributionCondition_To_v1alpha1_ResourceDistributionCondition(in, out, s)
}
