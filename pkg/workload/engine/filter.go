package engine

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/inplace"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/readiness"
)

// NeedsReconcile reports whether a change of a Pod may change what a pass does. Most of what the kubelet writes into a status
// changes nothing. While an update, a hook or a grace period is in progress in a Pod, every change of the Pod counts, because
// the pass may wait for it. Objects that are no Pods always count.
func NeedsReconcile(before, after metav1.Object) bool {
	b, ok := before.(*corev1.Pod)
	a, okAfter := after.(*corev1.Pod)
	if !ok || !okAfter || !settled(b) || !settled(a) {
		return true
	}
	return b.Generation != a.Generation || podstate.Active(b) != podstate.Active(a) || podstate.Ready(b) != podstate.Ready(a) ||
		!readySince(b).Equal(readySince(a)) || !maps.Equal(b.Labels, a.Labels) || !slices.Equal(b.Finalizers, a.Finalizers) ||
		!apiequality.Semantic.DeepEqual(b.OwnerReferences, a.OwnerReferences)
}

// settled reports whether no update, hook or grace period is in progress in a Pod, and its first conditions are set.
func settled(pod *corev1.Pod) bool {
	state := lifecycle.Of(pod)
	return lifecycle.Serves(state) && inplace.Released(pod) && !inplace.Delayed(pod) && !readiness.Unset(pod) &&
		!readiness.DrainDue(nil, pod, state)
}

// readySince returns when the condition Ready last changed, or nil. Availability is counted from it.
func readySince(pod *corev1.Pod) *metav1.Time {
	if c := podstate.Condition(pod, corev1.PodReady); c != nil {
		return &c.LastTransitionTime
	}
	return nil
}
