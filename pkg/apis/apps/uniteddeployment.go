package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TotalReplicas returns the desired number of Pods. If it is not set, it is the sum of the subsets.
func (u *UnitedDeployment) TotalReplicas() int32 {
	if u.Spec.Replicas != nil {
		return *u.Spec.Replicas
	}
	sum := int32(0)
	for i := range u.Spec.Topology.Subsets {
		if replicas := u.Spec.Topology.Subsets[i].Replicas; replicas != nil {
			sum += replicas.IntVal
		}
	}
	return sum
}

// PodSelector returns the selector in the status. It may exclude reserved Pods. Without one, it returns the selector in the spec.
func (u *UnitedDeployment) PodSelector() *metav1.LabelSelector {
	if published, err := metav1.ParseToLabelSelector(u.Status.LabelSelector); err == nil && u.Status.LabelSelector != "" {
		return published
	}
	return u.Spec.Selector
}

// PodTemplate returns the Pod template of the template that is set, and the name of its field. It returns
// nil if no template is set.
func (t *SubsetTemplate) PodTemplate() (string, *corev1.PodTemplateSpec) {
	switch {
	case t.StatefulSetTemplate != nil:
		return "statefulSetTemplate", &t.StatefulSetTemplate.Spec.Template
	case t.AdvancedStatefulSetTemplate != nil:
		return "advancedStatefulSetTemplate", &t.AdvancedStatefulSetTemplate.Spec.Template
	case t.CloneSetTemplate != nil:
		return "cloneSetTemplate", &t.CloneSetTemplate.Spec.Template
	case t.DeploymentTemplate != nil:
		return "deploymentTemplate", &t.DeploymentTemplate.Spec.Template
	}
	return "", nil
}
