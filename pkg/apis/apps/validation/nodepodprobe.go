package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidateNodePodProbe checks a NodePodProbe that is to be created. What it says is made of
// PodProbeMarkers, whose rules it has passed.
func ValidateNodePodProbe(probes *apps.NodePodProbe) field.ErrorList {
	return apivalidation.ValidateObjectMeta(&probes.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// ValidateNodePodProbeUpdate checks a NodePodProbe, or the status of one, that is to replace the
// stored one.
func ValidateNodePodProbeUpdate(probes, old *apps.NodePodProbe) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(&probes.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
}
