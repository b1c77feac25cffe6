package ordering

import (
	"cmp"
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// rule orders two Pods. The result is negative if a comes first, and zero if the rule does not decide.
type rule func(a, b *corev1.Pod) int

// inOrder applies the rules one after another, and then compares the names, so that the order is total.
func inOrder(rules ...rule) rule {
	return func(a, b *corev1.Pod) int {
		for _, r := range rules {
			if c := r(a, b); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Name, b.Name)
	}
}

// compareBool sorts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// unassignedFirst sorts Pods without a node first.
func unassignedFirst(a, b *corev1.Pod) int {
	return compareBool(a.Spec.NodeName != "", b.Spec.NodeName != "")
}

// phaseRank sorts the phases: Pending first, then Unknown, then Running.
func phaseRank(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodUnknown:
		return 1
	case corev1.PodRunning:
		return 2
	default:
		return 0
	}
}

// pendingFirst sorts by the phase.
func pendingFirst(a, b *corev1.Pod) int { return cmp.Compare(phaseRank(a), phaseRank(b)) }

// unavailableFirst sorts Pods that do not count as available first.
func unavailableFirst(minReadySeconds int32, now time.Time) rule {
	return func(a, b *corev1.Pod) int {
		return compareBool(podstate.Available(a, minReadySeconds, now), podstate.Available(b, minReadySeconds, now))
	}
}

// notReadyFirst sorts by the condition Ready.
func notReadyFirst(a, b *corev1.Pod) int {
	return compareBool(podstate.ConditionReady(a), podstate.ConditionReady(b))
}

// cheapestFirst sorts by the deletion cost, lowest first.
func cheapestFirst(a, b *corev1.Pod) int { return cmp.Compare(DeletionCost(a), DeletionCost(b)) }

// DeletionCost returns the Pod's deletion cost. A value that is not a plain int32 counts as zero, as does a value with a "+"
// sign or leading zeros. Kubernetes reads the annotation in the same way.
func DeletionCost(pod *corev1.Pod) int32 {
	text := pod.Annotations[pub.PodDeletionCostKey]
	value, err := strconv.ParseInt(text, 10, 32)
	if err != nil || strconv.FormatInt(value, 10) != text {
		return 0
	}
	return int32(value)
}

// highestRankFirst sorts by rank, by the names of the Pods. Without ranks, it does not decide.
func highestRankFirst(ranks map[string]float64) rule {
	return func(a, b *corev1.Pod) int { return cmp.Compare(ranks[b.Name], ranks[a.Name]) }
}

// latestReadyFirst sorts the Pod first that became ready last. It only decides between two ready Pods.
func latestReadyFirst(a, b *corev1.Pod) int {
	if !podstate.ConditionReady(a) || !podstate.ConditionReady(b) {
		return 0
	}
	return newerFirst(readySince(a), readySince(b))
}

// readySince returns when a ready Pod became ready.
func readySince(pod *corev1.Pod) metav1.Time {
	return podstate.Condition(pod, corev1.PodReady).LastTransitionTime
}

// newerFirst sorts an unknown time before any other time.
func newerFirst(a, b metav1.Time) int {
	if a.IsZero() || b.IsZero() {
		return compareBool(!a.IsZero(), !b.IsZero())
	}
	return b.Compare(a.Time)
}

// restarts returns the highest number of restarts of a container.
func restarts(pod *corev1.Pod) int32 {
	most := int32(math.MinInt32)
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return max(most, 0)
}

// mostRestartsFirst sorts by the number of restarts.
func mostRestartsFirst(a, b *corev1.Pod) int { return cmp.Compare(restarts(b), restarts(a)) }

// youngestFirst sorts the Pod first that was created last.
func youngestFirst(a, b *corev1.Pod) int { return newerFirst(a.CreationTimestamp, b.CreationTimestamp) }
