package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImagePullPhase is how far the pull of an image is.
// +enum
type ImagePullPhase string

const (
	// ImagePhaseWaiting waits for its turn on the node.
	ImagePhaseWaiting ImagePullPhase = "Waiting"
	// ImagePhasePulling is being pulled.
	ImagePhasePulling ImagePullPhase = "Pulling"
	// ImagePhaseSucceeded is on the node.
	ImagePhaseSucceeded ImagePullPhase = "Succeeded"
	// ImagePhaseFailed could not be pulled.
	ImagePhaseFailed ImagePullPhase = "Failed"
)

// SyncStatusPhase is how the first report of a node went.
// +enum
type SyncStatusPhase string

const (
	// SyncStatusSucceeded says that the images of the node were listed.
	SyncStatusSucceeded SyncStatusPhase = "Succeeded"
	// SyncStatusFailed says that they could not be listed.
	SyncStatusFailed SyncStatusPhase = "Failed"
)

// ReferenceMode says how long a reference to a pull secret lasts.
type ReferenceMode string

// BatchReferenceMode keeps the reference as long as the image entry that has it.
const BatchReferenceMode ReferenceMode = "batch"

// +genclient
// +genclient:nonNamespaced
// +genclient:method=GetPullSecrets,verb=get,subresource=pullsecrets,result=k8s.io/api/core/v1.SecretList
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodeImage is the list of images that one node is to pull, and the report of how far it
// is. It has the name and the labels of the node. ImagePullJobs write it; you need not.
type NodeImage struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what the node is to pull.
	// +optional
	Spec NodeImageSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is what the node reported last. It may lag behind.
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

// NodeImageSpec is what a node is to pull.
type NodeImageSpec struct {
	// images are the images by name, as users write it and without a tag, like "nginx" or
	// "example.com/team/app". At most 256.
	// +optional
	Images map[string]ImageSpec `json:"images,omitempty" protobuf:"bytes,1,rep,name=images"`
}

// ImageSpec is what a node is to pull of one image.
type ImageSpec struct {
	// pullSecrets are Secrets with credentials of the registry. All that fit are tried.
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

	// mode is batch or empty. batch keeps the reference as long as the image entry, also
	// when the Secret is gone.
	// +optional
	Mode ReferenceMode `json:"mode,omitempty" protobuf:"bytes,3,opt,name=mode,casttype=ReferenceMode"`
}

// ImageTagSpec is one tag to pull.
type ImageTagSpec struct {
	// tag is the tag, or the digest like "sha256:…", of the image. It is there once.
	Tag string `json:"tag" protobuf:"bytes,1,opt,name=tag"`

	// createdAt is when the tag was asked for. Deadlines count from it.
	// Defaults to the time of the write.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty" protobuf:"bytes,2,opt,name=createdAt"`

	// pullPolicy limits the pull. Its ttlSecondsAfterFinished must be set.
	// +optional
	PullPolicy *ImageTagPullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,3,opt,name=pullPolicy"`

	// ownerReferences are the jobs that asked for the tag. When the last one goes, the tag
	// goes too. A tag that never had one stays until ttlSecondsAfterFinished after its pull.
	// +optional
	// +listType=atomic
	OwnerReferences []corev1.ObjectReference `json:"ownerReferences,omitempty" protobuf:"bytes,4,rep,name=ownerReferences"`

	// version starts the pull anew when it grows. Only grow it.
	// Defaults to 0.
	// +optional
	Version int64 `json:"version,omitempty" protobuf:"varint,5,opt,name=version"`

	// imagePullPolicy is Always or IfNotPresent. Always pulls the image also where it is
	// present.
	// Unset means IfNotPresent.
	// +optional
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty" protobuf:"bytes,6,opt,name=imagePullPolicy,casttype=ImagePullPolicy"`
}

// ImageTagPullPolicy limits the pull of one tag.
type ImageTagPullPolicy struct {
	// timeoutSeconds is how long one attempt may take.
	// Defaults to 600.
	// +optional
	// +default=600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`

	// backoffLimit is how many attempts may follow the first. A negative number means 3.
	// Defaults to 3.
	// +optional
	// +default=3
	BackoffLimit *int32 `json:"backoffLimit,omitempty" protobuf:"varint,2,opt,name=backoffLimit"`

	// ttlSecondsAfterFinished is how long the tag stays in the list after its pull has
	// ended. It must be set.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,3,opt,name=ttlSecondsAfterFinished"`

	// activeDeadlineSeconds is how long all attempts together may take.
	// Unset means no limit.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,4,opt,name=activeDeadlineSeconds"`
}

// NodeImageStatus is what a node reported.
type NodeImageStatus struct {
	// desired is the number of tags to pull.
	Desired int32 `json:"desired" protobuf:"varint,1,opt,name=desired"`

	// succeeded is how many of them are on the node.
	Succeeded int32 `json:"succeeded" protobuf:"varint,2,opt,name=succeeded"`

	// failed is how many of them could not be pulled.
	Failed int32 `json:"failed" protobuf:"varint,3,opt,name=failed"`

	// pulling is how many of them are being pulled.
	Pulling int32 `json:"pulling" protobuf:"varint,4,opt,name=pulling"`

	// imageStatuses are the reports by the names that spec.images has.
	// +optional
	ImageStatuses map[string]ImageStatus `json:"imageStatuses,omitempty" protobuf:"bytes,5,rep,name=imageStatuses"`

	// firstSyncStatus is how the first report of the node went.
	// +optional
	FirstSyncStatus *SyncStatus `json:"firstSyncStatus,omitempty" protobuf:"bytes,6,opt,name=firstSyncStatus"`

	// waiting is how many tags wait because the node pulls as many as it may at once.
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

	// progress is how much has been pulled, from 0 to 100.
	// +optional
	Progress int32 `json:"progress,omitempty" protobuf:"varint,3,opt,name=progress"`

	// startTime is when the pull began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,4,opt,name=startTime"`

	// completionTime is when the pull succeeded or failed for good.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,5,opt,name=completionTime"`

	// version is the version in spec that this report answers.
	// +optional
	Version int64 `json:"version,omitempty" protobuf:"varint,6,opt,name=version"`

	// imageID is the image that the node has now: its name, "@", and the ID that the
	// container runtime gives it.
	// +optional
	ImageID string `json:"imageID,omitempty" protobuf:"bytes,7,opt,name=imageID"`

	// message says why the pull failed.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,8,opt,name=message"`
}

// SyncStatus is how the first report of a node went.
type SyncStatus struct {
	// syncAt is when it was made.
	// +optional
	SyncAt metav1.Time `json:"syncAt,omitempty" protobuf:"bytes,1,opt,name=syncAt"`

	// status is Succeeded or Failed.
	// +optional
	Status SyncStatusPhase `json:"status,omitempty" protobuf:"bytes,2,opt,name=status,casttype=SyncStatusPhase"`

	// message says why it failed.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
}
