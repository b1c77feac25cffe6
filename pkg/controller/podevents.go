package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/workload/engine"
)

// DescribePod returns the event about the creation or the deletion of a Pod, in the words of the built-in controllers. Empty strings
// mean that there is no event.
func DescribePod(result *engine.Result) (reason, message string) {
	switch {
	case result.Act == engine.Create && result.Err == nil:
		return "SuccessfulCreate", "Created pod: " + result.Pod
	case result.Act == engine.Create && apierrors.HasStatusCause(result.Err, corev1.NamespaceTerminatingCause):
		return "", "" // All objects in the namespace go away.
	case result.Act == engine.Create:
		return "FailedCreate", fmt.Sprintf("Error creating: %v", result.Err)
	case result.Act == engine.Delete && result.Err == nil:
		return "SuccessfulDelete", "Deleted pod: " + result.Pod
	case result.Act == engine.Delete:
		return "FailedDelete", fmt.Sprintf("Error deleting: %v", result.Err)
	default:
		return "", ""
	}
}
