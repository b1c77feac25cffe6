package inplace

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"kruise.io/kruise/pkg/workload/inplace/record"
)

// resizable are the resources that can change in a running container. Kubernetes resizes no others.
var resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// takeResources moves changed resources into the change. It returns false if a limit or request is added or removed, because
// that can change more than an amount, such as the QoS class. In after, it sets the amounts of before, so that Plan finds only
// the other differences.
func (c *Change) takeResources(before, after *corev1.Container) bool {
	amounts := corev1.ResourceRequirements{}
	for _, name := range resizable {
		if !takeAmount(before.Resources.Limits, after.Resources.Limits, name, &amounts.Limits) ||
			!takeAmount(before.Resources.Requests, after.Resources.Requests, name, &amounts.Requests) {
			return false
		}
	}
	if len(amounts.Limits)+len(amounts.Requests) > 0 {
		c.Resources[after.Name] = amounts
	}
	return true
}

// takeAmount moves one amount. It returns false if only one of the two lists has the resource.
func takeAmount(before, after corev1.ResourceList, name corev1.ResourceName, into *corev1.ResourceList) bool {
	was, had := before[name]
	is, has := after[name]
	if had != has {
		return false
	}
	if has && !was.Equal(is) {
		if *into == nil {
			*into = corev1.ResourceList{}
		}
		(*into)[name] = is
		after[name] = was
	}
	return true
}

// restartsToResize reports whether a container must restart to get the new resources. The resize policy of the container
// decides, for each resource.
func restartsToResize(container *corev1.Container, amounts corev1.ResourceRequirements) bool {
	for _, policy := range container.ResizePolicy {
		_, limit := amounts.Limits[policy.ResourceName]
		_, request := amounts.Requests[policy.ResourceName]
		if policy.RestartPolicy == corev1.RestartContainer && (limit || request) {
			return true
		}
	}
	return false
}

// setAmounts writes the changed amounts into a container. The other amounts stay.
func setAmounts(container *corev1.Container, amounts corev1.ResourceRequirements) {
	container.Resources.Limits = merged(container.Resources.Limits, amounts.Limits)
	container.Resources.Requests = merged(container.Resources.Requests, amounts.Requests)
}

// merged adds the entries of from to into, and returns into. A nil list stays nil if nothing is added.
func merged(into, from corev1.ResourceList) corev1.ResourceList {
	if into == nil && len(from) > 0 {
		into = corev1.ResourceList{}
	}
	maps.Copy(into, from)
	return into
}

// Split separates the change into two requests, because resources have their own subresource. resized is the Pod before with the
// resources of the Pod after, or nil if the resources are equal. rest is the Pod after with the resources of the Pod before.
func Split(before, after *corev1.Pod) (resized, rest *corev1.Pod) {
	for i := range after.Spec.Containers {
		if i >= len(before.Spec.Containers) ||
			apiequality.Semantic.DeepEqual(before.Spec.Containers[i].Resources, after.Spec.Containers[i].Resources) {
			continue
		}
		if resized == nil {
			resized, rest = before.DeepCopy(), after.DeepCopy()
		}
		after.Spec.Containers[i].Resources.DeepCopyInto(&resized.Spec.Containers[i].Resources)
		before.Spec.Containers[i].Resources.DeepCopyInto(&rest.Spec.Containers[i].Resources)
	}
	if resized == nil {
		return nil, after
	}
	return resized, rest
}

// resized reports whether the node has given each container of the update the resources in its spec. The API server accepts new
// resources at once; the node applies them later, or not at all.
func resized(pod *corev1.Pod, state *record.State) bool {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if !touched(state, container.Name) || waitsFor(state, container.Name) {
			continue
		}
		status := containerStatus(pod, container.Name)
		// A runtime that reports no resources can only be judged if the spec has none.
		if status == nil || status.Resources == nil && len(container.Resources.Limits)+len(container.Resources.Requests) > 0 {
			return false
		}
		if status.Resources == nil {
			continue
		}
		if !given(container.Resources.Limits, status.Resources.Limits) || !given(container.Resources.Requests, status.Resources.Requests) {
			return false
		}
	}
	return true
}

// given reports whether the status has every amount of the spec. Amounts that only the status has do not matter.
func given(spec, status corev1.ResourceList) bool {
	for _, name := range resizable {
		if want, found := spec[name]; found && !want.Equal(status[name]) {
			return false
		}
	}
	return true
}

// infeasible returns why the node will never give the resources in the spec, or "". The kubelet says so in the condition
// PodResizePending.
func infeasible(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodResizePending && c.Reason == corev1.PodReasonInfeasible && c.Status == corev1.ConditionTrue {
			return "its node cannot resize it: " + c.Message
		}
	}
	return ""
}

// qosClass returns the QoS class of Pods with the spec, by the rules of Kubernetes. The spec has the requests that a Pod has. The QoS class
// of a running Pod cannot change.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, any := true, false
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			resources := &containers[i].Resources
			for _, name := range resizable {
				limit, request := positive(resources.Limits, name), positive(resources.Requests, name)
				any = any || limit != nil || request != nil
				guaranteed = guaranteed && limit != nil && request != nil && request.Equal(*limit)
			}
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

// positive returns an amount that is more than zero, or nil. Zero counts as not set, as in Kubernetes.
func positive(amounts corev1.ResourceList, name corev1.ResourceName) *resource.Quantity {
	if amount, found := amounts[name]; found && amount.Sign() > 0 {
		return &amount
	}
	return nil
}
