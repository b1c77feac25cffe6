package v1beta1

import "k8s.io/utils/ptr"

// SetDefaults_AdvancedCronJobSpec fills the fields of an AdvancedCronJob, and those of the
// ImageListPullJob that it creates. A BroadcastJob gets its own when it is created. It covers the whole
// spec so that nothing here touches Pod templates: they are defaulted when a user writes them.
// +k8s:defaulter-gen=covers
func SetDefaults_AdvancedCronJobSpec(in *AdvancedCronJobSpec) {
	if in.ConcurrencyPolicy == "" {
		in.ConcurrencyPolicy = AllowConcurrent
		if in.Template.ImageListPullJobTemplate != nil {
			in.ConcurrencyPolicy = ReplaceConcurrent
		}
	}
	if in.Paused == nil {
		in.Paused = new(false)
	}
	if in.SuccessfulJobsHistoryLimit == nil {
		in.SuccessfulJobsHistoryLimit = ptr.To[int32](3)
	}
	if in.FailedJobsHistoryLimit == nil {
		in.FailedJobsHistoryLimit = ptr.To[int32](1)
	}
	if template := in.Template.ImageListPullJobTemplate; template != nil {
		SetDefaults_ImageListPullJobSpec(&template.Spec)
	}
}
