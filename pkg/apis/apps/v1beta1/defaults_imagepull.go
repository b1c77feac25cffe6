package v1beta1

import "k8s.io/utils/ptr"

// SetDefaults_ImagePullJobSpec fills the fields of an ImagePullJob.
// +k8s:defaulter-gen=covers
func SetDefaults_ImagePullJobSpec(in *ImagePullJobSpec) {
	SetDefaults_ImagePullJobTemplate(&in.ImagePullJobTemplate)
}

// SetDefaults_ImageListPullJobSpec fills the fields of an ImageListPullJob.
// +k8s:defaulter-gen=covers
func SetDefaults_ImageListPullJobSpec(in *ImageListPullJobSpec) {
	SetDefaults_ImagePullJobTemplate(&in.ImagePullJobTemplate)
}

// SetDefaults_ImagePullJobTemplate fills the fields that all jobs that pull images share.
// +k8s:defaulter-gen=covers
func SetDefaults_ImagePullJobTemplate(in *ImagePullJobTemplate) {
	if in.PullPolicy == nil {
		in.PullPolicy = &PullPolicy{}
	}
	SetDefaults_PullPolicy(in.PullPolicy)
	SetDefaults_CompletionPolicy(&in.CompletionPolicy)
	if in.ImagePullPolicy == "" {
		in.ImagePullPolicy = PullIfNotPresent
	}
}

// SetDefaults_PullPolicy fills the limits of a pull.
func SetDefaults_PullPolicy(in *PullPolicy) {
	if in.TimeoutSeconds == nil {
		in.TimeoutSeconds = ptr.To[int32](600)
	}
	if in.BackoffLimit == nil {
		in.BackoffLimit = ptr.To[int32](3)
	}
}

// SetDefaults_CompletionPolicy lets a job end.
func SetDefaults_CompletionPolicy(in *CompletionPolicy) {
	if in.Type == "" {
		in.Type = CompletionPolicyAlways
	}
}
