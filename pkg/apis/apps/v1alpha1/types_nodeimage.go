package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImagePullPhase is the phase of the pull of an image.
// +enum
type ImagePullPhase string

const (
	// ImagePhaseWaiting means that the pull waits for other pulls on the node.
	ImagePhaseWaiting ImagePullPhase = "Waiting"
	// ImagePhasePulling means that the image is being pulled.
	ImagePhasePulling ImagePullPhase = "Pulling"
	// ImagePhaseSucceeded means that the image was pulled.
	ImagePhaseSucceeded ImagePullPhase = "Succeeded"
	// ImagePhaseFailed means that the image could not be pulled.
	ImagePhaseFailed ImagePullPhase = "Failed"
)

// SyncStatusPhase is the result of the first report of a node.
// +enum
type SyncStatusPhase string

const (
	// SyncStatusSucceeded means that the images of the node were listed.
	SyncStatusSucceeded SyncStatusPhase = "Succeeded"
	// SyncStatusFailed means that the images could not be listed.
	SyncStatusFailed SyncStatusPhase = "Failed"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodeImage is the list of images that one node must pull, and the report of the node about them. It has the name and
// the labels of the node. The controller of ImagePullJobs writes it. You do not need to.
type NodeImage struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the list of images that the node must pull.
	// +optional
	Spec NodeImageSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the last report of the node. It can be out of date.
	// +optional
	Status NodeImageStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodeImageList is a list of NodeImages.
type NodeImageList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items is the list of NodeImages.
	Items []NodeImage `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// NodeImageSpec is the list of images that a node must pull.
type NodeImageSpec struct {
	// images maps an image name without a tag, such as "nginx" or "example.com/team/app", to
	// its tags. At most 256 images are allowed.
	// +optional
	Images map[string]ImageSpec `json:"images,omitempty" protobuf:"bytes,1,rep,name=images"`
}

// ImageSpec is the list of tags of one image that a node must pull.
type ImageSpec struct {
	// pullSecrets are Secrets with credentials of the registry. The agent tries each
	// matching one.
	// +optional
	// +listType=atomic
	PullSecrets []ReferenceObject `json:"pullSecrets,omitempty" protobuf:"bytes,1,rep,name=pullSecrets"`

	// tags are the tags to pull, in alphabetical order.
	// +patchMergeKey=tag
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=tag
	Tags []ImageTagSpec `json:"tags" patchStrategy:"merge" patchMergeKey:"tag" protobuf:"bytes,2,rep,name=tags"`

	// sandboxConfig is metadata that the container runtime gets with each pull.
	// +optional
	SandboxConfig *SandboxConfig `json:"sandboxConfig,omitempty" protobuf:"bytes,3,opt,name=sandboxConfig"`
}

// ReferenceObject names a Secret.
type ReferenceObject struct {
	// namespace is the namespace of the Secret.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`

	// name is the name of the Secret.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
}

// ImageTagSpec is one tag to pull.
type ImageTagSpec struct {
	// tag is the tag, or the digest such as "sha256:…", of the image. It must be unique in
	// the list.
	Tag string `json:"tag" protobuf:"bytes,1,opt,name=tag"`

	// createdAt is the time at which the tag was requested. Deadlines start at this time.
	// Defaults to the time of the write.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty" protobuf:"bytes,2,opt,name=createdAt"`

	// pullPolicy limits the pull. Its ttlSecondsAfterFinished must be set.
	// +optional
	PullPolicy *ImageTagPullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,3,opt,name=pullPolicy"`

	// ownerReferences are the jobs that requested the tag. When the last job is deleted, the
	// tag is removed. A tag that never had an owner is removed ttlSecondsAfterFinished after
	// its pull.
	// +optional
	// +listType=atomic
	OwnerReferences []corev1.ObjectReference `json:"ownerReferences,omitempty" protobuf:"bytes,4,rep,name=ownerReferences"`

	// version is the version of the request. Increase it to pull the image again. It must
	// not decrease.
	// Defaults to 0.
	// +optional
	Version int64 `json:"version,omitempty" protobuf:"varint,5,opt,name=version"`

	// imagePullPolicy is Always or IfNotPresent. Always pulls the image even if it is
	// present. If unset, the value is IfNotPresent.
	// +optional
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty" protobuf:"bytes,6,opt,name=imagePullPolicy,casttype=ImagePullPolicy"`
}

// ImageTagPullPolicy limits the pull of one tag.
type ImageTagPullPolicy struct {
	// timeoutSeconds is the number of seconds after which one pull attempt fails.
	// Defaults to 600.
	// +optional
	// +default=600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`

	// backoffLimit is the number of retries. A negative number means 3.
	// Defaults to 3.
	// +optional
	// +default=3
	BackoffLimit *int32 `json:"backoffLimit,omitempty" protobuf:"varint,2,opt,name=backoffLimit"`

	// ttlSecondsAfterFinished is the number of seconds that the tag stays in the list after
	// its pull has finished. It must be set.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,3,opt,name=ttlSecondsAfterFinished"`

	// activeDeadlineSeconds is the number of seconds that all attempts together can take. If
	// unset, there is no limit.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,4,opt,name=activeDeadlineSeconds"`
}

// NodeImageStatus is the report of a node.
type NodeImageStatus struct {
	// desired is the number of tags to pull.
	Desired int32 `json:"desired" protobuf:"varint,1,opt,name=desired"`

	// succeeded is the number of tags that were pulled.
	Succeeded int32 `json:"succeeded" protobuf:"varint,2,opt,name=succeeded"`

	// failed is the number of tags that could not be pulled.
	Failed int32 `json:"failed" protobuf:"varint,3,opt,name=failed"`

	// pulling is the number of tags that are being pulled.
	Pulling int32 `json:"pulling" protobuf:"varint,4,opt,name=pulling"`

	// imageStatuses maps each name in spec.images to its report.
	// +optional
	ImageStatuses map[string]ImageStatus `json:"imageStatuses,omitempty" protobuf:"bytes,5,rep,name=imageStatuses"`

	// firstSyncStatus is the result of the first report of the node.
	// +optional
	FirstSyncStatus *SyncStatus `json:"firstSyncStatus,omitempty" protobuf:"bytes,6,opt,name=firstSyncStatus"`

	// waiting is the number of tags that wait for other pulls on the node.
	// +optional
	Waiting int32 `json:"waiting,omitempty" protobuf:"varint,7,opt,name=waiting"`
}

// ImageStatus is the report about one image.
type ImageStatus struct {
	// tags are the reports by tag, in alphabetical order.
	// +patchMergeKey=tag
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=tag
	Tags []ImageTagStatus `json:"tags" patchStrategy:"merge" patchMergeKey:"tag" protobuf:"bytes,1,rep,name=tags"`
}

// ImageTagStatus is the report about one tag.
type ImageTagStatus struct {
	// tag is the tag or digest.
	Tag string `json:"tag" protobuf:"bytes,1,opt,name=tag"`

	// phase is Waiting, Pulling, Succeeded or Failed.
	Phase ImagePullPhase `json:"phase" protobuf:"bytes,2,opt,name=phase,casttype=ImagePullPhase"`

	// progress is the progress of the pull in percent, from 0 to 100.
	// +optional
	Progress int32 `json:"progress,omitempty" protobuf:"varint,3,opt,name=progress"`

	// startTime is the time at which the pull started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,4,opt,name=startTime"`

	// completionTime is the time at which the pull succeeded or finally failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,5,opt,name=completionTime"`

	// version is the version in spec that this report describes.
	// +optional
	Version int64 `json:"version,omitempty" protobuf:"varint,6,opt,name=version"`

	// imageID identifies the image on the node. It is the image name, "@", and the ID that
	// the container runtime assigned.
	// +optional
	ImageID string `json:"imageID,omitempty" protobuf:"bytes,7,opt,name=imageID"`

	// message explains why the pull failed.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,8,opt,name=message"`
}

// SyncStatus is the result of the first report of a node.
type SyncStatus struct {
	// syncAt is the time of the report.
	// +optional
	SyncAt metav1.Time `json:"syncAt,omitempty" protobuf:"bytes,1,opt,name=syncAt"`

	// status is Succeeded or Failed.
	// +optional
	Status SyncStatusPhase `json:"status,omitempty" protobuf:"bytes,2,opt,name=status,casttype=SyncStatusPhase"`

	// message explains why the report failed.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
}
