package v1alpha1

import "k8s.io/utils/ptr"

// SetDefaults_AdvancedCronJob fills the fields of an AdvancedCronJob. A BroadcastJob gets its own when it
// is created. It covers the whole object so that nothing here touches Pod templates: they are defaulted
// when a user writes them.
// +k8s:defaulter-gen=covers
func SetDefaults_AdvancedCronJob(obj *AdvancedCronJob) {
	in := &obj.Spec
	if in.ConcurrencyPolicy == "" {
		in.ConcurrencyPolicy = AllowConcurrent
		if pullsImages(obj) {
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
}

// pullsImages reports whether the template is of the kind that v1alpha1 has no field for.
func pullsImages(obj *AdvancedCronJob) bool {
	kept := keptAdvancedCronJob{}
	takeKept(obj.Annotations, &kept)
	return kept.ImageListPullJobTemplate != nil
}
