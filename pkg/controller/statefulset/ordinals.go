package statefulset

import (
	"fmt"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/ordinals"
)

// maxClaims is how many claims the Pods of a set can have. A pass looks up each of them by its name, which takes memory.
const maxClaims = 1_000_000

// ordinals returns the ordinals in range, in ascending order. After an error nothing may be created or deleted, because a Pod could
// be deleted that the user wanted to keep. Without the feature gate, ordinals start at 0 again, as in Kubernetes.
func (s *settings) ordinals(set *v1beta1.StatefulSet) ([]int, error) {
	if names := replicasOf(set) * len(set.Spec.VolumeClaimTemplates); names > maxClaims {
		return nil, fmt.Errorf("replicas: %d Pods with %d claims each have %d claims, more than %d; reduce one of them",
			replicasOf(set), len(set.Spec.VolumeClaimTemplates), names, maxClaims)
	}
	start, reserved := ordinals.SpecOf(set, s.startOrdinal)
	return ordinals.InRange(replicasOf(set), start, reserved)
}
