package statefulset

import (
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/ordinals"
)

// ordinals returns the ordinals in range, in ascending order. After an error nothing may be created or deleted, because a Pod could
// be deleted that the user wanted to keep. Without the feature gate, ordinals start at 0 again, as in Kubernetes.
func (s *settings) ordinals(set *v1beta1.StatefulSet) ([]int, error) {
	start := 0
	if s.startOrdinal && set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	return ordinals.InRange(replicasOf(set), start, set.Spec.ReserveOrdinals)
}
