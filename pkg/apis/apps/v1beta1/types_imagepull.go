package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ImagePullPolicy defines whether to pull an image that is already on the node.
// +enum
//
// The empty value means the default.
type ImagePullPolicy string

const (
	// PullAlways pulls the image even if it is present.
	PullAlways ImagePullPolicy = "Always"
	// PullIfNotPresent does not pull an image that is present.
	PullIfNotPresent ImagePullPolicy = "IfNotPresent"
)

// SandboxConfig is metadata for the container runtime. It is passed with a pull, for runtimes that load images lazily.
type SandboxConfig struct {
	// annotations are passed to the container runtime unchanged.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,1,rep,name=annotations"`

	// labels are passed to the container runtime unchanged.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,2,rep,name=labels"`
}

// ImagePullJobTemplate contains the fields that all jobs that pull images share.
type ImagePullJobTemplate struct {
	// pullSecrets are the names of Secrets with registry credentials in the namespace of the
	// job. A job with pullSecrets gets a finalizer, so that the copies of the Secrets are
	// removed with the job. In an ImagePullJob, the field cannot be changed.
	// +optional
	// +listType=atomic
	PullSecrets []string `json:"pullSecrets,omitempty" protobuf:"bytes,1,rep,name=pullSecrets"`

	// selector selects nodes by name or by label. It cannot be used together with
	// podSelector. If neither is set, all nodes are selected.
	// +optional
	Selector *ImagePullJobNodeSelector `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`

	// podSelector selects the nodes that run Pods with these labels in the namespace of the
	// job. It cannot be used together with selector.
	// +optional
	PodSelector *ImagePullJobPodSelector `json:"podSelector,omitempty" protobuf:"bytes,3,opt,name=podSelector"`

	// parallelism is the maximum number of nodes that pull the image at the same time. It
	// must be a number, not a percentage. 0 pauses the job. If unset, the value is 1.
	// +optional
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty" protobuf:"bytes,4,opt,name=parallelism"`

	// pullPolicy limits the pull on each node.
	// +optional
	PullPolicy *PullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,5,opt,name=pullPolicy"`

	// completionPolicy defines when the job finishes and when it is deleted.
	// +optional
	CompletionPolicy CompletionPolicy `json:"completionPolicy,omitempty" protobuf:"bytes,6,opt,name=completionPolicy"`

	// sandboxConfig is metadata that the container runtime gets with each pull.
	// +optional
	SandboxConfig *SandboxConfig `json:"sandboxConfig,omitempty" protobuf:"bytes,7,opt,name=sandboxConfig"`

	// imagePullPolicy is Always or IfNotPresent. Always pulls the image even if it is
	// present.
	// Defaults to IfNotPresent.
	// +optional
	// +default="IfNotPresent"
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty" protobuf:"bytes,8,opt,name=imagePullPolicy,casttype=ImagePullPolicy"`
}

// ImagePullJobNodeSelector selects nodes by name or by label, not both.
type ImagePullJobNodeSelector struct {
	// names are the names of nodes. Nodes that do not exist are ignored.
	// +optional
	// +listType=atomic
	Names []string `json:"names,omitempty" protobuf:"bytes,1,rep,name=names"`

	// The labels of nodes.
	// +optional
	metav1.LabelSelector `json:",inline" protobuf:"bytes,2,opt,name=labelSelector"`
}

// ImagePullJobPodSelector selects nodes by the labels of the Pods that run on them.
type ImagePullJobPodSelector struct {
	// The labels of Pods.
	// +optional
	metav1.LabelSelector `json:",inline" protobuf:"bytes,1,opt,name=labelSelector"`
}

// PullPolicy limits the pull of an image on one node.
type PullPolicy struct {
	// timeoutSeconds is the number of seconds after which one pull attempt fails.
	// Defaults to 600.
	// +optional
	// +default=600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`

	// backoffLimit is the number of retries before the node counts as failed.
	// Defaults to 3.
	// +optional
	// +default=3
	BackoffLimit *int32 `json:"backoffLimit,omitempty" protobuf:"varint,2,opt,name=backoffLimit"`
}
