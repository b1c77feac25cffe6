package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ImagePullPolicy defines whether to pull an image that is already on the node.
type ImagePullPolicy string

const (
	// PullAlways pulls the image even if it is present.
	PullAlways ImagePullPolicy = "Always"
	// PullIfNotPresent does not pull an image that is present.
	PullIfNotPresent ImagePullPolicy = "IfNotPresent"
)

// SandboxConfig is metadata for the container runtime. It is passed with a pull, for runtimes that load images lazily.
type SandboxConfig struct {
	Annotations map[string]string
	Labels      map[string]string
}

// ImagePullJobTemplate contains the fields that all jobs that pull images share.
type ImagePullJobTemplate struct {
	PullSecrets      []string
	Selector         *ImagePullJobNodeSelector
	PodSelector      *ImagePullJobPodSelector
	Parallelism      *intstr.IntOrString
	PullPolicy       *PullPolicy
	CompletionPolicy CompletionPolicy
	SandboxConfig    *SandboxConfig
	ImagePullPolicy  ImagePullPolicy
}

// ImagePullJobNodeSelector selects nodes by name or by label, not both.
type ImagePullJobNodeSelector struct {
	Names []string
	metav1.LabelSelector
}

// ImagePullJobPodSelector selects nodes by the labels of the Pods that run on them.
type ImagePullJobPodSelector struct {
	metav1.LabelSelector
}

// PullPolicy limits the pull of an image on one node.
type PullPolicy struct {
	TimeoutSeconds *int32
	BackoffLimit   *int32
}
