package ordering

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/lifecycle"
)

// ForUpdate returns the Pods in the base order of an update: Pods whose loss costs least come first. Priorities and scatter
// change it later. The given slice is not changed.
func ForUpdate(pods []*corev1.Pod) []*corev1.Pod {
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, inOrder(
		unassignedFirst, pendingFirst, notReadyFirst, latestReadyFirst, mostRestartsFirst, youngestFirst,
	))
	return sorted
}

// PreparingFirst moves Pods that already wait for their update's hook to the front. The order is otherwise kept.
func PreparingFirst(pods []*corev1.Pod) []*corev1.Pod {
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int {
		return compareBool(lifecycle.Of(a) != pub.LifecycleStatePreparingUpdate, lifecycle.Of(b) != pub.LifecycleStatePreparingUpdate)
	})
	return sorted
}
