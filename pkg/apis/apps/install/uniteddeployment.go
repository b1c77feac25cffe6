package install

import "kruise.io/kruise/pkg/apis/apps"

// DefaultUnitedDeploymentTemplate fills the Pod template and the claim templates of statefulSetTemplate.
// old is the stored object, nil on create. Unchanged parts of an update keep their stored values. The
// other templates stay as the user wrote them: the server of their kind fills the workloads that the
// controller creates.
func DefaultUnitedDeploymentTemplate(united, old *apps.UnitedDeployment) {
	set := united.Spec.Template.StatefulSetTemplate
	if set == nil {
		return
	}
	if old == nil || old.Spec.Template.StatefulSetTemplate == nil {
		defaultTemplates(&set.Spec.Template, nil, set.Spec.VolumeClaimTemplates, nil)
		return
	}
	stored := &old.Spec.Template.StatefulSetTemplate.Spec
	defaultTemplates(&set.Spec.Template, &stored.Template, set.Spec.VolumeClaimTemplates, stored.VolumeClaimTemplates)
}
