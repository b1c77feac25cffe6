package v1beta1

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

	// spec is the images, where they are to be, and how they are pulled.
	// +optional
	Spec ImageListPullJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller observed last. It may lag behind.
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

// ImageListPullJobSpec is images, where they are to be, and how they are pulled.
type ImageListPullJobSpec struct {
	// images are the images to pull, each with a tag or a digest. At least 1, at most 255,
	// none twice.
	// +listType=atomic
	Images []string `json:"images" protobuf:"bytes,1,rep,name=images"`

	// Where and how they are pulled. A change replaces the ImagePullJobs of all images.
	ImagePullJobTemplate `json:",inline" protobuf:"bytes,2,opt,name=imagePullJobTemplate"`
}

// ImageListPullJobStatus is what the controller observed.
type ImageListPullJobStatus struct {
	// startTime is when the controller saw the job first.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,1,opt,name=startTime"`

	// completionTime is when the job ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,2,opt,name=completionTime"`

	// desired is the number of images.
	Desired int32 `json:"desired" protobuf:"varint,3,opt,name=desired"`

	// active is how many images are being pulled somewhere.
	// +optional
	Active int32 `json:"active,omitempty" protobuf:"varint,4,opt,name=active"`

	// completed is how many images every node has pulled or failed to pull.
	Completed int32 `json:"completed" protobuf:"varint,5,opt,name=completed"`

	// succeeded is how many images every node has.
	Succeeded int32 `json:"succeeded" protobuf:"varint,6,opt,name=succeeded"`

	// failedImageStatuses are the images that some node could not pull, by name.
	// +optional
	// +listType=atomic
	FailedImageStatuses []FailedImageStatus `json:"failedImageStatuses,omitempty" protobuf:"bytes,7,rep,name=failedImageStatuses"`
}

// FailedImageStatus is an image that some node could not pull.
type FailedImageStatus struct {
	// imagePullJob is the name of the ImagePullJob of the image.
	// +optional
	ImagePullJob string `json:"imagePullJob,omitempty" protobuf:"bytes,1,opt,name=imagePullJob"`

	// name is the image.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`

	// message says what to do to find out more.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
}
