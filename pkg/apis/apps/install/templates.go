package install

import (
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// DefaultCloneSetTemplate fills the Pod template and the claim templates of a CloneSet written by a user.
// old is the stored object, nil on create. Unchanged parts of an update keep their stored values. more sets
// defaults of Pods that core does not have, and is nil if there are none.
func DefaultCloneSetTemplate(cloneSet, old *apps.CloneSet, more func(*corev1.PodSpec)) {
	stored := &workloadTemplates{}
	if old != nil {
		stored = &workloadTemplates{&old.Spec.Template, old.Spec.VolumeClaimTemplates}
	}
	defaultTemplates(&workloadTemplates{&cloneSet.Spec.Template, cloneSet.Spec.VolumeClaimTemplates}, stored, more)
}

// workloadTemplates are the templates of a workload. Both are nil if no workload is stored.
type workloadTemplates struct {
	pod    *corev1.PodTemplateSpec
	claims []corev1.PersistentVolumeClaim
}

// defaultTemplates fills a Pod template and claim templates that differ from the stored ones.
func defaultTemplates(templates, stored *workloadTemplates, more func(*corev1.PodSpec)) {
	podtemplate.Default(templates.pod, stored.pod, more)
	podtemplate.DefaultClaims(templates.claims, stored.claims)
}
