package install

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

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

// DropLowerBounds removes minReplicas of 0 that only defaulting has added. Defaulting sets it in all subsets once one subset has a bound.
// A manifest without bounds does not have the value, so it cannot remove it. The value goes if no subset has another bound, and either a
// subset has replicas, or the stored object had another bound. old is nil on create.
func DropLowerBounds(united, old *apps.UnitedDeployment) {
	subsets := united.Spec.Topology.Subsets
	hasReplicas := slices.ContainsFunc(subsets, func(subset apps.Subset) bool { return subset.Replicas != nil })
	if bounded(subsets) || !hasReplicas && (old == nil || !bounded(old.Spec.Topology.Subsets)) {
		return
	}
	for i := range subsets {
		subsets[i].MinReplicas = nil
	}
}

// bounded returns true if a subset has a bound that is not the default.
func bounded(subsets []apps.Subset) bool {
	return slices.ContainsFunc(subsets, func(subset apps.Subset) bool {
		return subset.MaxReplicas != nil || subset.MinReplicas != nil && *subset.MinReplicas != intstr.FromInt32(0)
	})
}

// AgreeOnUnitedDeployment does for the cloneSetTemplate what AgreeOnCloneSet does for a CloneSet. Each change of a template updates all
// Pods, so a template stays as it is stored if it differs only in fields that its metadata sets. old is nil on create.
func AgreeOnUnitedDeployment(united, old *apps.UnitedDeployment) {
	template, stored := united.Spec.Template.CloneSetTemplate, &apps.CloneSetTemplateSpec{}
	if template == nil {
		return
	}
	if old != nil && old.Spec.Template.CloneSetTemplate != nil {
		stored = old.Spec.Template.CloneSetTemplate
	}
	filled := stored.DeepCopy()
	agreeOnCloneSetTemplate(filled, stored)
	agreeOnCloneSetTemplate(template, stored)
	if apiequality.Semantic.DeepEqual(template, filled) {
		*template = *stored.DeepCopy()
	}
}

func agreeOnCloneSetTemplate(template, stored *apps.CloneSetTemplateSpec) {
	set := &apps.CloneSet{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	AgreeOnCloneSet(set, &apps.CloneSet{ObjectMeta: stored.ObjectMeta, Spec: stored.Spec})
	template.ObjectMeta, template.Spec = set.ObjectMeta, set.Spec
}
