package statefulset

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/workload/engine"
)

// verbs are the words for what a write does, and the second part of the event's reason.
var verbs = map[engine.Act]struct{ verb, reason string }{
	engine.Create: {"create", "Create"}, engine.Delete: {"delete", "Delete"}, engine.Edit: {"update", "Update"},
	engine.Expand: {"resize", "Resize"},
}

// describer returns the function that describes the writes of a set, in the words of the StatefulSets of Kubernetes. An empty reason
// means that there is no event. Acts without an entry in verbs have the words of the engine.
func describer(set string) func(*engine.Result) (reason, message string) {
	return func(result *engine.Result) (reason, message string) {
		words, known := verbs[result.Act]
		switch {
		case !known:
			return result.DescribeUpdate()
		case silent(result):
			return "", ""
		case result.Claim != "" && result.Err != nil:
			return "Failed" + words.reason, fmt.Sprintf("%s Claim %s for Pod %s in StatefulSet %s failed error: %v",
				words.verb, result.Claim, result.Pod, set, result.Err)
		case result.Claim != "":
			return "Successful" + words.reason, fmt.Sprintf("%s Claim %s Pod %s in StatefulSet %s success",
				words.verb, result.Claim, result.Pod, set)
		case result.Err != nil:
			return "Failed" + words.reason, fmt.Sprintf("%s Pod %s in StatefulSet %s failed error: %v", words.verb, result.Pod, set, result.Err)
		default:
			return "Successful" + words.reason, fmt.Sprintf("%s Pod %s in StatefulSet %s successful", words.verb, result.Pod, set)
		}
	}
}

// silent reports whether a write has no event: the owners of a claim changed, a released Pod still has the name, or all objects of
// the namespace go away.
func silent(result *engine.Result) bool {
	switch result.Act {
	case engine.Edit:
		return result.Claim != "" && result.Err == nil
	case engine.Create:
		// A Pod that another workload has does not go away by itself.
		if taken := (*engine.TakenError)(nil); errors.As(result.Err, &taken) {
			return false
		}
		return apierrors.IsAlreadyExists(result.Err) || apierrors.HasStatusCause(result.Err, corev1.NamespaceTerminatingCause)
	default:
		return false
	}
}
