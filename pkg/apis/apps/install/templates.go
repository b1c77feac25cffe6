package install

import (
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// DefaultCloneSetTemplate fills the Pod template and the claim templates of a CloneSet
// that a user writes. old is the stored object, nil on create; what an update leaves alone
// stays as it is stored.
func DefaultCloneSetTemplate(cloneSet, old *apps.CloneSet) {
	if old == nil {
		podtemplate.Default(&cloneSet.Spec.Template, nil)
		podtemplate.DefaultClaims(cloneSet.Spec.VolumeClaimTemplates, nil)
		return
	}
	podtemplate.Default(&cloneSet.Spec.Template, &old.Spec.Template)
	podtemplate.DefaultClaims(cloneSet.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates)
}
