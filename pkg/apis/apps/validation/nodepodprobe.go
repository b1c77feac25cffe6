package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
)

// ValidateNodePodProbe checks a new NodePodProbe. Its content comes from PodProbeMarkers, which were
// validated.
func ValidateNodePodProbe(probes *apps.NodePodProbe) field.ErrorList {
	return apivalidation.ValidateObjectMeta(&probes.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// ValidateNodePodProbeUpdate checks an update of a NodePodProbe or of its status.
func ValidateNodePodProbeUpdate(probes, old *apps.NodePodProbe) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(&probes.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
}
