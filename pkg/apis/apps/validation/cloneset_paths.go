package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/pub"
)

// podUpdatePolicyPath is the hub's field for v1alpha1's type, which has one value more.
const podUpdatePolicyPath = "spec.updateStrategy.rollingUpdate.podUpdatePolicy"

var cloneSetMoved = []movedField{
	{
		"spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadParallelism",
		"metadata.annotations[" + pub.ImagePreDownloadParallelismKey + "]",
	},
	{
		"spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds",
		"metadata.annotations[" + pub.ImagePreDownloadTimeoutSecondsKey + "]",
	},
	{
		"spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods",
		"metadata.annotations[" + pub.ImagePreDownloadMinUpdatedReadyPodsKey + "]",
	},
	{podUpdatePolicyPath, "spec.updateStrategy.type"},
	{"spec.updateStrategy.rollingUpdate", "spec.updateStrategy"},
}

// CloneSetErrorsIn converts the paths of errors in a CloneSet to the version of the request.
func CloneSetErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	shown := inVersion(version, errs, cloneSetMoved)
	for i, err := range errs {
		if version == "v1alpha1" && err.Field == podUpdatePolicyPath {
			shown[i].Detail += `, "OnDelete"`
		}
	}
	return shown
}
