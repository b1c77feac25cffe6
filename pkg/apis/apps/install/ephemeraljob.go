package install

import (
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// DefaultEphemeralJobTemplate fills the containers of an EphemeralJob written by a user. old is the stored
// object, nil on create. Unchanged parts of an update keep their stored values.
func DefaultEphemeralJobTemplate(job, old *apps.EphemeralJob) {
	var stored *podtemplate.Parts
	if old != nil {
		stored = &podtemplate.Parts{EphemeralContainers: old.Spec.Template.EphemeralContainers}
	}
	podtemplate.DefaultParts(&podtemplate.Parts{EphemeralContainers: job.Spec.Template.EphemeralContainers}, stored, nil)
}
