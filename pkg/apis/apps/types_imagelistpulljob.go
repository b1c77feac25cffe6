package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImageListPullJob pulls several images onto nodes before Pods need them. It creates an
// ImagePullJob for each image.
type ImageListPullJob struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   ImageListPullJobSpec
	Status ImageListPullJobStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImageListPullJobList is a list of ImageListPullJobs.
type ImageListPullJobList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []ImageListPullJob
}

// ImageListPullJobSpec defines the images, the nodes, and how the images are pulled.
type ImageListPullJobSpec struct {
	Images []string
	ImagePullJobTemplate
}

// ImageListPullJobStatus is the observed state.
type ImageListPullJobStatus struct {
	StartTime           *metav1.Time
	CompletionTime      *metav1.Time
	Desired             int32
	Active              int32
	Completed           int32
	Succeeded           int32
	FailedImageStatuses []FailedImageStatus
}

// FailedImageStatus is an image that at least one node failed to pull.
type FailedImageStatus struct {
	ImagePullJob string
	Name         string
	Message      string
}
