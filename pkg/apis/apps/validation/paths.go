package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/pub"
)

// podUpdatePolicyPath is the hub's field for v1alpha1's type, which has one value more.
const podUpdatePolicyPath = "spec.updateStrategy.rollingUpdate.podUpdatePolicy"

// v1alpha1Paths are the fields that v1alpha1 has elsewhere, the longest first: the path in
// the hub, and in v1alpha1.
var v1alpha1Paths = []struct{ hub, v1alpha1 string }{
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

// ErrorsIn gives the errors of a CloneSet the paths of the version in which the user wrote
// it: the rules see the hub, whose shape is v1beta1's.
func ErrorsIn(version string, errs field.ErrorList) field.ErrorList {
	if version != "v1alpha1" {
		return errs
	}
	result := make(field.ErrorList, 0, len(errs))
	for _, err := range errs {
		moved := *err
		if err.Type == field.ErrorTypeNotSupported && err.Field == podUpdatePolicyPath {
			moved.Detail += `, "OnDelete"`
		}
		for _, path := range v1alpha1Paths {
			if rest, found := strings.CutPrefix(err.Field, path.hub); found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				moved.Field = path.v1alpha1 + rest
				break
			}
		}
		result = append(result, &moved)
	}
	return result
}
