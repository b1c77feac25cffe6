package podcontrol

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// WithRequests returns the spec with the requests that kube-apiserver gives a Pod: a limit without a request is also the request. A
// template does not have them. The given spec is not changed; the result shares with it what does not differ.
func WithRequests(spec *corev1.PodSpec) *corev1.PodSpec {
	after := *spec
	for _, containers := range []*[]corev1.Container{&after.InitContainers, &after.Containers} {
		*containers = slices.Clone(*containers)
		for i := range *containers {
			request(&(*containers)[i].Resources)
		}
	}
	return &after
}

// request replaces the requests by a copy with the limits that have none.
func request(resources *corev1.ResourceRequirements) {
	if len(resources.Limits) == 0 {
		return
	}
	requests := maps.Clone(resources.Limits)
	maps.Copy(requests, resources.Requests)
	resources.Requests = requests
}
