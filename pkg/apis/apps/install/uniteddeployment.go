package install

import (
	appsv1 "k8s.io/api/apps/v1"

	"kruise.io/kruise/pkg/apis/apps"
)

// DefaultUnitedDeploymentTemplate fills the Pod templates and claim templates of what a user writes. old
// is the stored object, nil on create. Unchanged parts of an update keep their stored values. The template
// of a Deployment is not defaulted: the cluster applies its own defaults when the Deployments are created.
func DefaultUnitedDeploymentTemplate(united, old *apps.UnitedDeployment) {
	if old == nil {
		old = &apps.UnitedDeployment{}
	}
	template, stored := &united.Spec.Template, &old.Spec.Template
	if set := template.StatefulSetTemplate; set != nil {
		if before := stored.StatefulSetTemplate; before != nil {
			defaultNative(&set.Spec, &before.Spec)
		} else {
			defaultNative(&set.Spec, nil)
		}
	}
	if set := template.AdvancedStatefulSetTemplate; set != nil {
		var before *apps.StatefulSet
		if stored.AdvancedStatefulSetTemplate != nil {
			before = &apps.StatefulSet{Spec: stored.AdvancedStatefulSetTemplate.Spec}
		}
		child := &apps.StatefulSet{Spec: set.Spec}
		DefaultStatefulSetTemplate(child, before)
		set.Spec = child.Spec
	}
	if set := template.CloneSetTemplate; set != nil {
		var before *apps.CloneSet
		if stored.CloneSetTemplate != nil {
			before = &apps.CloneSet{Spec: stored.CloneSetTemplate.Spec}
		}
		child := &apps.CloneSet{Spec: set.Spec}
		DefaultCloneSetTemplate(child, before)
		set.Spec = child.Spec
	}
}

func defaultNative(spec, old *appsv1.StatefulSetSpec) {
	if old == nil {
		defaultTemplates(&spec.Template, nil, spec.VolumeClaimTemplates, nil)
		return
	}
	defaultTemplates(&spec.Template, &old.Template, spec.VolumeClaimTemplates, old.VolumeClaimTemplates)
}
