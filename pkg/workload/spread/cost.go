package spread

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/ordering"
)

// costOfSubset is the difference of the costs of two neighboring subsets. The contract of users is the order, not the numbers.
const costOfSubset = 100

// Ordered reports whether Pods of the target are removed in the order of their cost: ReplicaSets and CloneSets read the
// annotation.
func Ordered(spread *v1beta1.WorkloadSpread) bool {
	kind := KindOf(spread)
	return Versioned(spread) || kind == kinds.CloneSet
}

// Costs returns the deletion costs of the active Pods of one version, by name. subsets are the Pods of each subset, and others
// those that belong to none. The Pod with the lowest cost is removed first. Pods within the limit of a subset have positive
// costs, and are removed from the last subset on, after surplus Pods, which have negative costs. Pods of no subset have the
// lowest. In an old version, the order of the subsets is reversed.
func Costs(
	spread *v1beta1.WorkloadSpread, subsets [][]*corev1.Pod, others []*corev1.Pod, replicas int, old bool, now time.Time,
) map[string]int {
	costs, n := map[string]int{}, len(subsets)
	for i, pods := range subsets {
		place := i
		if old {
			place = n - 1 - i
		}
		// unhealthyFirst puts the Pods that a scale-in would take first to the front, and these become the surplus.
		surplus := max(0, len(pods)-Limit(spread.Spec.Subsets[i].MaxReplicas, replicas))
		for at, pod := range unhealthyFirst(pods, now) {
			costs[pod.Name] = costOfSubset * (n - place)
			if at < surplus {
				costs[pod.Name] = -costOfSubset * (place + 1)
			}
		}
	}
	for _, pod := range others {
		costs[pod.Name] = -costOfSubset * (n + 1)
	}
	return costs
}

// unhealthyFirst returns the Pods in the order in which a scale-in removes them, without their costs, which come from this
// order. The copies are shallow, except for the annotations, because the Pods belong to the cache.
func unhealthyFirst(pods []*corev1.Pod, now time.Time) []*corev1.Pod {
	plain := make([]*corev1.Pod, len(pods))
	for i, pod := range pods {
		copied := *pod
		copied.Annotations = maps.Clone(pod.Annotations)
		delete(copied.Annotations, pub.PodDeletionCostKey)
		plain[i] = &copied
	}
	return ordering.Deletion{Now: now}.ForDeletion(plain)
}
