package ordering

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Deletion is what the scale-down order needs besides the Pods. The rules follow those of ReplicaSets in Kubernetes, with the
// spread by topology in addition.
type Deletion struct {
	// MinReadySeconds and Now decide which Pods are available.
	MinReadySeconds int32
	Now             time.Time
	// TopologyKeys are the keys of the template's spread constraints. If there are none, Pods are spread by node.
	TopologyKeys []string
	// NodeLabels returns the labels of a node. It is only called if there are topology keys.
	NodeLabels func(node string) map[string]string
}

// ForDeletion returns the Pods in the order in which a scale-down deletes them. The spread is computed over exactly the given
// Pods, so callers must pass only the group that they choose from. The given slice is not changed.
func (d Deletion) ForDeletion(pods []*corev1.Pod) []*corev1.Pod {
	sorted := slices.Clone(pods)
	if len(sorted) < 2 {
		return sorted
	}
	slices.SortFunc(sorted, d.compare(d.ranks(pods)))
	return sorted
}

// compare returns the order of a deletion: first Pods that serve nothing, then the cheapest, then those in crowded places, then
// the newest.
func (d Deletion) compare(ranks map[string]float64) rule {
	return inOrder(
		unassignedFirst, pendingFirst, unavailableFirst(d.MinReadySeconds, d.Now), notReadyFirst, cheapestFirst,
		highestRankFirst(ranks), latestReadyFirst, mostRestartsFirst, youngestFirst,
	)
}

// ranks gives Pods that share a node or topology domain a higher number than Pods that are alone in one. Without topology keys,
// only nodes count. With several keys, the numbers of all keys are added.
func (d Deletion) ranks(pods []*corev1.Pod) map[string]float64 {
	sameNode := d.sameNodeRanks(pods)
	if len(d.TopologyKeys) == 0 {
		return sameNode
	}
	sum := map[string]float64{}
	for _, key := range d.TopologyKeys {
		// Among Pods of one domain, those on a crowded node come first. For the hostname, the domain is the node.
		ties := sameNode
		if key == corev1.LabelHostname {
			ties = nil
		}
		groups := groupBy(pods, func(pod *corev1.Pod) string { return d.NodeLabels(pod.Spec.NodeName)[key] })
		// As in the scheduler's scoring of topology spread, a key with more domains weighs more.
		weight := math.Log(float64(len(groups) + 2))
		for _, group := range groups {
			slices.SortFunc(group, d.compare(ties))
			for i, pod := range group {
				sum[pod.Name] += float64(len(group)-i) * weight
			}
		}
	}
	return sum
}

// sameNodeRanks counts for each Pod how many Pods of its node are to be deleted after it.
func (d Deletion) sameNodeRanks(pods []*corev1.Pod) map[string]float64 {
	ranks := map[string]float64{}
	for _, group := range groupBy(pods, func(pod *corev1.Pod) string { return pod.Spec.NodeName }) {
		slices.SortFunc(group, d.compare(nil))
		for i, pod := range group {
			ranks[pod.Name] = float64(len(group) - 1 - i)
		}
	}
	return ranks
}

// groupBy groups Pods by a place. It omits Pods without one: Pods without a node, or on nodes without the label.
func groupBy(pods []*corev1.Pod, place func(*corev1.Pod) string) map[string][]*corev1.Pod {
	groups := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		if name := place(pod); name != "" {
			groups[name] = append(groups[name], pod)
		}
	}
	return groups
}
