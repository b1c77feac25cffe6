package install

import (
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// DefaultCloneSetTemplate fills the Pod template and the claim templates of a CloneSet written by a user.
// old is the stored object, nil on create. Unchanged parts of an update keep their stored values.
func DefaultCloneSetTemplate(cloneSet, old *apps.CloneSet) {
	if old == nil {
		defaultTemplates(&cloneSet.Spec.Template, nil, cloneSet.Spec.VolumeClaimTemplates, nil)
		return
	}
	defaultTemplates(&cloneSet.Spec.Template, &old.Spec.Template, cloneSet.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates)
}

// defaultTemplates fills a Pod template and claim templates that differ from the stored ones.
func defaultTemplates(template, oldTemplate *corev1.PodTemplateSpec, claims, oldClaims []corev1.PersistentVolumeClaim) {
	podtemplate.Default(template, oldTemplate)
	podtemplate.DefaultClaims(claims, oldClaims)
}
