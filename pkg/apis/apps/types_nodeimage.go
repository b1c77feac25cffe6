package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImagePullPhase is the phase of the pull of an image.
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
type SyncStatusPhase string

const (
	// SyncStatusSucceeded means that the images of the node were listed.
	SyncStatusSucceeded SyncStatusPhase = "Succeeded"
	// SyncStatusFailed means that the images could not be listed.
	SyncStatusFailed SyncStatusPhase = "Failed"
)

// ReferenceMode defines how long a reference to a pull secret is kept.
type ReferenceMode string

// BatchReferenceMode keeps the reference as long as the image entry that has it.
const BatchReferenceMode ReferenceMode = "batch"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodeImage is the list of images that one node must pull, and the report of the node about them. It has the name and
// the labels of the node. The controller of ImagePullJobs writes it. You do not need to.
type NodeImage struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   NodeImageSpec
	Status NodeImageStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NodeImageList is a list of NodeImages.
type NodeImageList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []NodeImage
}

// NodeImageSpec is the list of images that a node must pull.
type NodeImageSpec struct {
	Images map[string]ImageSpec
}

// ImageSpec is the list of tags of one image that a node must pull.
type ImageSpec struct {
	PullSecrets   []ReferenceObject
	Tags          []ImageTagSpec
	SandboxConfig *SandboxConfig
}

// ReferenceObject names a Secret.
type ReferenceObject struct {
	Namespace string
	Name      string
	Mode      ReferenceMode
}

// ImageTagSpec is one tag to pull.
type ImageTagSpec struct {
	Tag             string
	CreatedAt       *metav1.Time
	PullPolicy      *ImageTagPullPolicy
	OwnerReferences []corev1.ObjectReference
	Version         int64
	ImagePullPolicy ImagePullPolicy
}

// ImageTagPullPolicy limits the pull of one tag.
type ImageTagPullPolicy struct {
	TimeoutSeconds          *int32
	BackoffLimit            *int32
	TTLSecondsAfterFinished *int32
	ActiveDeadlineSeconds   *int64
}

// NodeImageStatus is the report of a node.
type NodeImageStatus struct {
	Desired         int32
	Succeeded       int32
	Failed          int32
	Pulling         int32
	ImageStatuses   map[string]ImageStatus
	FirstSyncStatus *SyncStatus
	Waiting         int32
}

// ImageStatus is the report about one image.
type ImageStatus struct {
	Tags []ImageTagStatus
}

// ImageTagStatus is the report about one tag.
type ImageTagStatus struct {
	Tag            string
	Phase          ImagePullPhase
	Progress       int32
	StartTime      *metav1.Time
	CompletionTime *metav1.Time
	Version        int64
	ImageID        string
	Message        string
}

// SyncStatus is the result of the first report of a node.
type SyncStatus struct {
	SyncAt  metav1.Time
	Status  SyncStatusPhase
	Message string
}
