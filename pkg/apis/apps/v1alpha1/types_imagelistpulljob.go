package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImageListPullJob pulls several images onto nodes before Pods need them. It creates an
// ImagePullJob for each image.
type ImageListPullJob struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the images, the nodes, and how the images are pulled.
	// +optional
	Spec ImageListPullJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status ImageListPullJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImageListPullJobList is a list of ImageListPullJobs.
type ImageListPullJobList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of ImageListPullJobs.
	Items []ImageListPullJob `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ImageListPullJobSpec defines the images, the nodes, and how the images are pulled.
type ImageListPullJobSpec struct {
	// images are the images to pull, each with a tag or a digest. The list has 1 to 255
	// items without duplicates.
	// +listType=atomic
	Images []string `json:"images" protobuf:"bytes,1,rep,name=images"`

	// Where and how they are pulled. A change replaces the ImagePullJobs of all images.
	ImagePullJobTemplate `json:",inline" protobuf:"bytes,2,opt,name=imagePullJobTemplate"`
}

// ImageListPullJobStatus is the observed state.
type ImageListPullJobStatus struct {
	// startTime is the time at which the controller first observed the job.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,1,opt,name=startTime"`

	// completionTime is the time at which the job finished.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,2,opt,name=completionTime"`

	// desired is the number of images.
	Desired int32 `json:"desired" protobuf:"varint,3,opt,name=desired"`

	// active is the number of images that a node is pulling.
	// +optional
	Active int32 `json:"active,omitempty" protobuf:"varint,4,opt,name=active"`

	// completed is the number of images that every node has pulled or failed to pull.
	Completed int32 `json:"completed" protobuf:"varint,5,opt,name=completed"`

	// succeeded is the number of images that every node has pulled.
	Succeeded int32 `json:"succeeded" protobuf:"varint,6,opt,name=succeeded"`

	// failedImageStatuses are the images that at least one node failed to pull, sorted by
	// name.
	// +optional
	// +listType=atomic
	FailedImageStatuses []FailedImageStatus `json:"failedImageStatuses,omitempty" protobuf:"bytes,7,rep,name=failedImageStatuses"`
}

// FailedImageStatus is an image that at least one node failed to pull.
type FailedImageStatus struct {
	// imagePullJob is the name of the ImagePullJob of the image.
	// +optional
	ImagePullJob string `json:"imagePullJob,omitempty" protobuf:"bytes,1,opt,name=imagePullJob"`

	// name is the name of the image.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`

	// message says how to find the nodes that failed.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
}
