package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImagePullJob pulls an image onto nodes before Pods need it.
type ImagePullJob struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   ImagePullJobSpec
	Status ImagePullJobStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImagePullJobList is a list of ImagePullJobs.
type ImagePullJobList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []ImagePullJob
}

// ImagePullJobSpec defines the image, the nodes, and how the image is pulled.
type ImagePullJobSpec struct {
	Image string
	ImagePullJobTemplate
}

// ImagePullJobStatus is the observed state.
type ImagePullJobStatus struct {
	StartTime      *metav1.Time
	CompletionTime *metav1.Time
	Desired        int32
	Active         int32
	Succeeded      int32
	Failed         int32
	Message        string
	FailedNodes    []string
}
