package install

import (
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
)

// DefaultEphemeralJobTemplate fills the containers of an EphemeralJob that a user writes. old is the
// stored object, nil on create; what an update leaves alone stays as it is stored.
func DefaultEphemeralJobTemplate(job, old *apps.EphemeralJob) {
	var stored *podtemplate.Parts
	if old != nil {
		stored = &podtemplate.Parts{EphemeralContainers: old.Spec.Template.EphemeralContainers}
	}
	podtemplate.DefaultParts(&podtemplate.Parts{EphemeralContainers: job.Spec.Template.EphemeralContainers}, stored)
}
