package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// usualOperations are the operations that a budget protects when its spec names none. A resize that restarts nothing is not
// among them.
var usualOperations = []v1beta1.PubOperation{v1beta1.PubDeleteOperation, v1beta1.PubUpdateOperation, v1beta1.PubEvictOperation}

// UpdateOf returns which operation an update of a Pod is. It returns false if the update is no disruption. A change of metadata
// is none, except for the label that takes a Pod out of service.
func UpdateOf(before, after *corev1.Pod) (v1beta1.PubOperation, bool) {
	switch {
	case !markedUnavailable(before) && markedUnavailable(after):
		return v1beta1.PubUpdateOperation, true
	case apiequality.Semantic.DeepEqual(before.Spec, after.Spec):
		return "", false
	case restartsNothing(before, after):
		return v1beta1.PubResizeOperation, true
	default:
		return v1beta1.PubUpdateOperation, true
	}
}

// restartsNothing reports whether the update only changes resources that the node can change in a running container.
// kube-apiserver already rejects an update that changes the QoS class. The node resizes no static Pods in place.
func restartsNothing(before, after *corev1.Pod) bool {
	if _, static := before.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return false
	}
	rest := after.Spec.DeepCopy()
	if !resize(rest.Containers, before.Spec.Containers) || !resize(rest.InitContainers, before.Spec.InitContainers) {
		return false
	}
	// The resources of the Pod are only limits for its containers.
	rest.Resources = before.Spec.Resources
	return apiequality.Semantic.DeepEqual(before.Spec, *rest)
}

// resize gives containers the resources that they had before. It returns false if one of them must restart to get the new ones. Init
// containers can be sidecars, which run beside the others.
func resize(after, before []corev1.Container) bool {
	if len(after) != len(before) {
		return false
	}
	for i := range after {
		if changesRestart(&before[i], after[i].Resources) {
			return false
		}
		before[i].Resources.DeepCopyInto(&after[i].Resources)
	}
	return true
}

// changesRestart reports whether the container must restart to get the wanted resources.
func changesRestart(container *corev1.Container, wanted corev1.ResourceRequirements) bool {
	for _, lists := range [][2]corev1.ResourceList{
		{container.Resources.Limits, wanted.Limits}, {container.Resources.Requests, wanted.Requests},
	} {
		for _, name := range changedNames(lists[0], lists[1]) {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory || restartsFor(container, name) {
				return true
			}
		}
	}
	return !apiequality.Semantic.DeepEqual(container.Resources.Claims, wanted.Claims)
}

// restartsFor reports whether the container asks for a restart when the resource changes.
func restartsFor(container *corev1.Container, name corev1.ResourceName) bool {
	return slices.ContainsFunc(container.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		return policy.ResourceName == name && policy.RestartPolicy == corev1.RestartContainer
	})
}

// changedNames returns the resources that two lists do not have in the same amount.
func changedNames(before, after corev1.ResourceList) (names []corev1.ResourceName) {
	for name, amount := range after {
		if old, found := before[name]; !found || !old.Equal(amount) {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, found := after[name]; !found {
			names = append(names, name)
		}
	}
	return names
}

// protects reports whether the budget limits the operation. With resizeIsUpdate, a budget that limits updates also limits
// resizes that restart nothing.
func protects(spec *v1beta1.PodUnavailableBudgetSpec, operation v1beta1.PubOperation, resizeIsUpdate bool) bool {
	operations := spec.ProtectOperations
	if len(operations) == 0 {
		operations = usualOperations
	}
	return slices.Contains(operations, operation) || operation == v1beta1.PubResizeOperation && resizeIsUpdate &&
		slices.Contains(operations, v1beta1.PubUpdateOperation)
}
