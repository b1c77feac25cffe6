package ordering

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Deletion is what the scale-down order needs besides the Pods.
type Deletion struct {
	MinReadySeconds int32
	Now             time.Time
	// TopologyKeys are the keys of the template's spread constraints. If there are none, Pods are spread by node.
	TopologyKeys []string
	// NodeLabels returns the labels of a node. It is only called if there are topology keys.
	NodeLabels func(node string) map[string]string
}

// ForDeletion returns the Pods in the order in which a scale-down deletes them. The spread is computed over exactly the given
// Pods, so callers must pass only the group that they choose from.
func (d Deletion) ForDeletion(pods []*corev1.Pod) []*corev1.Pod {
	sorted := slices.Clone(pods)
	if len(sorted) < 2 {
		return sorted
	}
	slices.SortFunc(sorted, d.compare(d.ranks(pods)))
	return sorted
}

func (d Deletion) compare(ranks map[string]float64) rule {
	return inOrder(
		unassignedFirst, pendingFirst, unavailableFirst(d.MinReadySeconds, d.Now), notReadyFirst, cheapestFirst,
		highestRankFirst(ranks), latestReadyFirst, mostRestartsFirst, youngestFirst,
	)
}

// ranks gives Pods that share a node or topology domain a higher number than Pods that are alone in one.
func (d Deletion) ranks(pods []*corev1.Pod) map[string]float64 {
	sameNode := d.sameNodeRanks(pods)
	if len(d.TopologyKeys) == 0 {
		return sameNode
	}
	sum := map[string]float64{}
	for _, key := range d.TopologyKeys {
		ties := sameNode
		if key == corev1.LabelHostname {
			ties = nil
		}
		groups := groupBy(pods, func(pod *corev1.Pod) string { return d.NodeLabels(pod.Spec.NodeName)[key] })
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

// groupBy omits Pods without a place: Pods without a node, or on nodes without the label.
func groupBy(pods []*corev1.Pod, place func(*corev1.Pod) string) map[string][]*corev1.Pod {
	groups := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		if name := place(pod); name != "" {
			groups[name] = append(groups[name], pod)
		}
	}
	return groups
}
