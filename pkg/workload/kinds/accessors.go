package kinds

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/ordering"
)

// empty returns a new object of the type, for Kind.New.
func empty[T any, P interface {
	*T
	Object
}]() Object {
	return P(new(T))
}

// replicas reads a number that defaults to 1, as API servers default it. It returns nil for objects of other types, so that
// either can try the next one.
func replicas[T any](of func(*T) *int32) func(runtime.Object) *int32 {
	return func(object runtime.Object) *int32 {
		typed, ok := any(object).(*T)
		if !ok {
			return nil
		}
		if count := of(typed); count != nil {
			return count
		}
		return new(int32(1))
	}
}

// either returns what the first accessor returns, or what the second returns if that is nil. The two are for the versioned and
// the internal type of one kind.
func either(first, second func(runtime.Object) *int32) func(runtime.Object) *int32 {
	return func(object runtime.Object) *int32 { return cmp.Or(first(object), second(object)) }
}

// template adapts an accessor of a Pod template. The result returns nil for objects of other types.
func template[T any](of func(*T) *corev1.PodTemplateSpec) func(runtime.Object) *corev1.PodTemplateSpec {
	return func(object runtime.Object) *corev1.PodTemplateSpec {
		if typed, ok := any(object).(*T); ok {
			return of(typed)
		}
		return nil
	}
}

// selector adapts an accessor of the selector of Pods in the same way.
func selector[T any](of func(*T) *metav1.LabelSelector) func(runtime.Object) *metav1.LabelSelector {
	return func(object runtime.Object) *metav1.LabelSelector {
		if typed, ok := any(object).(*T); ok {
			return of(typed)
		}
		return nil
	}
}

// claims adapts an accessor of claim templates in the same way.
func claims[T any](of func(*T) []corev1.PersistentVolumeClaim) func(runtime.Object) []corev1.PersistentVolumeClaim {
	return func(object runtime.Object) []corev1.PersistentVolumeClaim {
		if typed, ok := any(object).(*T); ok {
			return of(typed)
		}
		return nil
	}
}

// replicasOfSubsets returns the wanted Pods of all subsets together. The internal type has a function of its own, because Go
// has no common type for both.
func replicasOfSubsets(united *v1beta1.UnitedDeployment) *int32 {
	subsets := united.Spec.Topology.Subsets
	return sum(united.Spec.Replicas, len(subsets), func(i int) *intstr.IntOrString { return subsets[i].Replicas })
}

func replicasOfInternalSubsets(united *apps.UnitedDeployment) *int32 {
	subsets := united.Spec.Topology.Subsets
	return sum(united.Spec.Replicas, len(subsets), func(i int) *intstr.IntOrString { return subsets[i].Replicas })
}

// sum returns the given number. If it is nil, every subset is expected to have a number, and sum returns their total.
func sum(given *int32, subsets int, of func(int) *intstr.IntOrString) *int32 {
	if given != nil {
		return given
	}
	var total int32
	for i := range subsets {
		if count := of(i); count != nil {
			total += count.IntVal
		}
	}
	return &total
}

// asCloneSet sorts Pods in the order in which the CloneSet's update strategy updates them. Without the object, or without a
// strategy, the given order is kept.
func asCloneSet(object runtime.Object, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	set, ok := object.(*v1beta1.CloneSet)
	if !ok || set.Spec.UpdateStrategy.RollingUpdate == nil {
		return pods, nil
	}
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	return ordering.ByStrategy(ordering.ForUpdate(pods), pods, rolling.PriorityStrategy, rolling.ScatterStrategy)
}

// lastNodeFirst sorts Pods in the update order of a DaemonSet: by the names of their nodes, the last one first.
func lastNodeFirst(_ runtime.Object, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int { return cmp.Compare(b.Spec.NodeName, a.Spec.NodeName) })
	return sorted, nil
}

// lastOrdinalFirst sorts Pods in the update order of a StatefulSet: from the highest ordinal down.
func lastOrdinalFirst(_ runtime.Object, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int { return cmp.Compare(ordinal(b), ordinal(a)) })
	return sorted, nil
}

// ordinal returns the number at the end of the name of a StatefulSet's Pod, or -1.
func ordinal(pod *corev1.Pod) int {
	number, err := strconv.Atoi(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:])
	if err != nil {
		return -1
	}
	return number
}
