package podtemplate

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
)

// Default fills a template that a user wrote. old is the stored one, nil on create. A template that equals the stored one is
// left alone: a default that a newer server adds must not change Pods that nobody changed. more sets defaults that core does not
// have, such as DefaultHostPorts, and is nil if there are none. template is changed in place, and old is not.
func Default(template, old *corev1.PodTemplateSpec, more func(*corev1.PodSpec)) {
	if old != nil && apiequality.Semantic.DeepEqual(template, old) {
		return
	}
	setDefaults(template, more)
	if old != nil {
		keepStored(template, old, more)
	}
}

// DefaultHostPorts gives the ports of a Pod in the network of its node the same number there. Core does this only when the Pod
// is created.
func DefaultHostPorts(spec *corev1.PodSpec) {
	if !spec.HostNetwork {
		return
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				if port := &containers[i].Ports[j]; port.HostPort == 0 {
					port.HostPort = port.ContainerPort
				}
			}
		}
	}
}

// keepStored stores the old template with the changes that Pods take in place, when nothing else differs once both have today's
// defaults. So a default that a newer release adds never turns an update in place into a recreation. If anything else differs,
// the template keeps today's defaults: its Pods are recreated anyway.
func keepStored(template, old *corev1.PodTemplateSpec, more func(*corev1.PodSpec)) {
	if len(template.Spec.Containers) != len(old.Spec.Containers) {
		return
	}
	before := old.DeepCopy()
	setDefaults(before, more)
	// These are the fields that can change in place.
	for i := range before.Spec.Containers {
		before.Spec.Containers[i].Image = template.Spec.Containers[i].Image
		before.Spec.Containers[i].Resources = template.Spec.Containers[i].Resources
	}
	if !apiequality.Semantic.DeepEqual(&before.Spec, &template.Spec) {
		return
	}
	kept := old.Spec.DeepCopy()
	for i := range kept.Containers {
		kept.Containers[i].Image = template.Spec.Containers[i].Image
		template.Spec.Containers[i].Resources.DeepCopyInto(&kept.Containers[i].Resources)
	}
	template.Spec = *kept
}

// DefaultClaims fills claim templates as Default does a template: all of them on create and when one of them changes. claims
// are changed in place.
func DefaultClaims(claims, old []corev1.PersistentVolumeClaim) {
	if old != nil && apiequality.Semantic.DeepEqual(claims, old) {
		return
	}
	for i := range claims {
		corev1defaults.SetObjectDefaults_PersistentVolumeClaim(&claims[i])
	}
}

// setDefaults applies core's defaults. The containers of the template differ from core in one thing: they pull always, whatever
// their tag. That is the contract, and the policy is part of each revision's hash. Init containers pull as in core.
func setDefaults(template *corev1.PodTemplateSpec, more func(*corev1.PodSpec)) {
	pullAlways(&template.Spec)
	// Core has no function that defaults a template alone.
	holder := corev1.PodTemplate{Template: *template}
	corev1defaults.SetObjectDefaults_PodTemplate(&holder)
	*template = holder.Template
	if more != nil {
		more(&template.Spec)
	}
}

// pullAlways sets the pull policy of containers that have none. It must run before core's defaults, which would set another
// one.
func pullAlways(spec *corev1.PodSpec) {
	for i := range spec.Containers {
		if spec.Containers[i].ImagePullPolicy == "" {
			spec.Containers[i].ImagePullPolicy = corev1.PullAlways
		}
	}
}
