package v1beta1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"kruise.io/kruise/pkg/apis/apps"
)

// Convert_v1beta1_ResourceDistributionSpec_To_apps_ResourceDistributionSpec normalizes the resource.
func Convert_v1beta1_ResourceDistributionSpec_To_apps_ResourceDistributionSpec(
	in *ResourceDistributionSpec, out *apps.ResourceDistributionSpec, s conversion.Scope,
) error {
	if err := autoConvert_v1beta1_ResourceDistributionSpec_To_apps_ResourceDistributionSpec(in, out, s); err != nil {
		return err
	}
	out.Resource = apps.CanonicalRaw(in.Resource)
	return nil
}

// Convert_v1beta1_ResourceDistributionTargets_To_apps_ResourceDistributionTargets takes the field of v1alpha1
// too.
func Convert_v1beta1_ResourceDistributionTargets_To_apps_ResourceDistributionTargets(
	in *ResourceDistributionTargets, out *apps.ResourceDistributionTargets, s conversion.Scope,
) error {
	err := autoConvert_v1beta1_ResourceDistributionTargets_To_apps_ResourceDistributionTargets(in, out, s)
	if in.NamespaceLabelSelector != nil {
		out.NamespaceSelector = *in.NamespaceLabelSelector
	}
	return err
}
