package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImagePullJob pulls an image onto nodes before Pods need it.
type ImagePullJob struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the image, the nodes, and how the image is pulled.
	// +optional
	Spec ImagePullJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the state that the controller last observed. It can be out of date.
	// +optional
	Status ImagePullJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImagePullJobList is a list of ImagePullJobs.
type ImagePullJobList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of ImagePullJobs.
	Items []ImagePullJob `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ImagePullJobSpec defines the image, the nodes, and how the image is pulled.
type ImagePullJobSpec struct {
	// image is the image to pull, such as "example.com/team/app:v1". Without a tag or a
	// digest, the tag is latest.
	Image string `json:"image" protobuf:"bytes,1,opt,name=image"`

	// Where and how it is pulled.
	ImagePullJobTemplate `json:",inline" protobuf:"bytes,2,opt,name=imagePullJobTemplate"`
}

// ImagePullJobStatus is the observed state.
type ImagePullJobStatus struct {
	// startTime is the time at which the controller first observed the job.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,1,opt,name=startTime"`

	// completionTime is the time at which the job finished.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,2,opt,name=completionTime"`

	// desired is the number of selected nodes.
	Desired int32 `json:"desired" protobuf:"varint,3,opt,name=desired"`

	// active is the number of nodes that are pulling the image.
	// +optional
	Active int32 `json:"active,omitempty" protobuf:"varint,4,opt,name=active"`

	// succeeded is the number of nodes that have pulled the image.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty" protobuf:"varint,5,opt,name=succeeded"`

	// failed is the number of nodes that failed to pull the image.
	// +optional
	Failed int32 `json:"failed,omitempty" protobuf:"varint,6,opt,name=failed"`

	// message is a human-readable description of the progress.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,7,opt,name=message"`

	// failedNodes are the names of the nodes that failed to pull the image, in alphabetical
	// order.
	// +optional
	// +listType=atomic
	FailedNodes []string `json:"failedNodes,omitempty" protobuf:"bytes,8,rep,name=failedNodes"`
}
