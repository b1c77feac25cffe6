package apps

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ImagePullPolicy says whether an image that a node has is pulled again.
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
	Annotations map[string]string
	Labels      map[string]string
}

// ImagePullJobTemplate says where and how images are pulled. All jobs that pull images have
// these fields.
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

// ImagePullJobNodeSelector chooses nodes by name or by label, not both.
type ImagePullJobNodeSelector struct {
	Names []string
	metav1.LabelSelector
}

// ImagePullJobPodSelector chooses nodes by the labels of the Pods that run there.
type ImagePullJobPodSelector struct {
	metav1.LabelSelector
}

// PullPolicy limits the pull of an image on one node.
type PullPolicy struct {
	TimeoutSeconds *int32
	BackoffLimit   *int32
}
