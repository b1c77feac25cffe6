package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ImagePullPolicy says whether an image that a node has is pulled again.
// +enum
//
// The empty value stands for the default.
type ImagePullPolicy string

const (
	// PullAlways pulls the image also where it is present.
	PullAlways ImagePullPolicy = "Always"
	// PullIfNotPresent leaves an image alone that is present.
	PullIfNotPresent ImagePullPolicy = "IfNotPresent"
)

// SandboxConfig is metadata that the container runtime gets with a pull, for runtimes that
// load images lazily.
type SandboxConfig struct {
	// annotations are passed on as they are.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,1,rep,name=annotations"`

	// labels are passed on as they are.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,2,rep,name=labels"`
}

// ImagePullJobTemplate says where and how images are pulled. All jobs that pull images have
// these fields.
type ImagePullJobTemplate struct {
	// pullSecrets are the names of Secrets in the job's namespace with credentials of
	// registries. A job that has them gets a finalizer, so that copies of them are removed
	// with it. An ImagePullJob cannot change them.
	// +optional
	// +listType=atomic
	PullSecrets []string `json:"pullSecrets,omitempty" protobuf:"bytes,1,rep,name=pullSecrets"`

	// selector chooses nodes, by name or by label. It excludes podSelector.
	// Unset, without podSelector, chooses all nodes.
	// +optional
	Selector *ImagePullJobNodeSelector `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`

	// podSelector chooses the nodes on which Pods of the job's namespace with these labels
	// run. It excludes selector.
	// +optional
	PodSelector *ImagePullJobPodSelector `json:"podSelector,omitempty" protobuf:"bytes,3,opt,name=podSelector"`

	// parallelism is on how many nodes the image is pulled at once. It must be a number; a
	// percentage is refused. 0 pauses the job.
	// Unset means 1.
	// +optional
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty" protobuf:"bytes,4,opt,name=parallelism"`

	// pullPolicy limits the pull on each node.
	// +optional
	PullPolicy *PullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,5,opt,name=pullPolicy"`

	// completionPolicy says when the job ends and what becomes of it.
	// +optional
	CompletionPolicy CompletionPolicy `json:"completionPolicy,omitempty" protobuf:"bytes,6,opt,name=completionPolicy"`

	// sandboxConfig is metadata that the container runtime gets with each pull.
	// +optional
	SandboxConfig *SandboxConfig `json:"sandboxConfig,omitempty" protobuf:"bytes,7,opt,name=sandboxConfig"`

	// imagePullPolicy is Always or IfNotPresent. Always pulls the image also where it is
	// present.
	// Defaults to IfNotPresent.
	// +optional
	// +default="IfNotPresent"
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty" protobuf:"bytes,8,opt,name=imagePullPolicy,casttype=ImagePullPolicy"`
}

// ImagePullJobNodeSelector chooses nodes by name or by label, not both.
type ImagePullJobNodeSelector struct {
	// names are names of nodes. Nodes that do not exist are passed over.
	// +optional
	// +listType=atomic
	Names []string `json:"names,omitempty" protobuf:"bytes,1,rep,name=names"`

	// The labels of nodes.
	// +optional
	metav1.LabelSelector `json:",inline" protobuf:"bytes,2,opt,name=labelSelector"`
}

// ImagePullJobPodSelector chooses nodes by the labels of the Pods that run there.
type ImagePullJobPodSelector struct {
	// The labels of Pods.
	// +optional
	metav1.LabelSelector `json:",inline" protobuf:"bytes,1,opt,name=labelSelector"`
}

// PullPolicy limits the pull of an image on one node.
type PullPolicy struct {
	// timeoutSeconds is how long one attempt may take.
	// Defaults to 600.
	// +optional
	// +default=600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`

	// backoffLimit is how many attempts may follow the first before the node counts as
	// failed.
	// Defaults to 3.
	// +optional
	// +default=3
	BackoffLimit *int32 `json:"backoffLimit,omitempty" protobuf:"varint,2,opt,name=backoffLimit"`
}
