package install

import (
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
)

// DefaultUnitedDeploymentTemplate fills the Pod template and the claim templates of statefulSetTemplate.
// old is the stored object, nil on create. Unchanged parts of an update keep their stored values. The
// other templates stay as the user wrote them: the server of their kind fills the workloads that the
// controller creates. more is as in DefaultCloneSetTemplate.
func DefaultUnitedDeploymentTemplate(united, old *apps.UnitedDeployment, more func(*corev1.PodSpec)) {
	set := united.Spec.Template.StatefulSetTemplate
	if set == nil {
		return
	}
	stored := &workloadTemplates{}
	if old != nil && old.Spec.Template.StatefulSetTemplate != nil {
		spec := &old.Spec.Template.StatefulSetTemplate.Spec
		stored = &workloadTemplates{&spec.Template, spec.VolumeClaimTemplates}
	}
	defaultTemplates(&workloadTemplates{&set.Spec.Template, set.Spec.VolumeClaimTemplates}, stored, more)
}
