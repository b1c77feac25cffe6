package imagepuller

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
)

const (
	// pullerKey and puller tell the runtime which program pulls.
	pullerKey = "apps.kruise.io/pulling-image-by"
	puller    = "kruise-daemon"
)

// imageTag is an image name, as in the NodeImage, and one of its tags.
type imageTag struct{ image, tag string }

// task is the work that a NodeImage requests for one tag. It is immutable: a change of the NodeImage creates a new
// one.
type task struct {
	imageTag
	version int64
	// always pulls the image even if it is present.
	always bool
	imagetag.Limits
	// owners get the events of a failure. sandbox is the metadata for the runtime.
	owners  []corev1.ObjectReference
	secrets []v1beta1.ReferenceObject
	sandbox *v1beta1.SandboxConfig
}

// newTask returns the task for a tag of the NodeImage.
func newTask(image string, spec *v1beta1.ImageSpec, tag *v1beta1.ImageTagSpec) *task {
	return &task{
		imageTag: imageTag{image, tag.Tag}, version: tag.Version, always: tag.ImagePullPolicy == v1beta1.PullAlways,
		Limits: imagetag.LimitsOf(tag), owners: tag.OwnerReferences, secrets: spec.PullSecrets, sandbox: spec.SandboxConfig,
	}
}

// attempts returns the maximum number of attempts.
func (t *task) attempts() int { return t.Retries + 1 }

// sandboxConfig returns the metadata that the runtime gets with the pull.
func (t *task) sandboxConfig() *runtimeapi.PodSandboxConfig {
	config := &runtimeapi.PodSandboxConfig{Labels: map[string]string{}, Annotations: map[string]string{}}
	if t.sandbox != nil {
		maps.Copy(config.Labels, t.sandbox.Labels)
		maps.Copy(config.Annotations, t.sandbox.Annotations)
	}
	config.Annotations[pullerKey] = puller
	return config
}

// unfinished returns the tasks that have no completed report for their version. After a restart of the agent, these
// are the pulls to begin again.
func unfinished(node *v1beta1.NodeImage) map[imageTag]*task {
	tasks := map[imageTag]*task{}
	for image := range node.Spec.Images {
		spec := node.Spec.Images[image]
		for i := range spec.Tags {
			tag := &spec.Tags[i]
			if report := reportOf(node, image, tag.Tag); report == nil || !answers(report, tag.Version) {
				tasks[imageTag{image, tag.Tag}] = newTask(image, &spec, tag)
			}
		}
	}
	return tasks
}

// answers returns true if the report is final for this version.
func answers(report *v1beta1.ImageTagStatus, version int64) bool {
	return report.Version == version && report.CompletionTime != nil
}

// reportOf returns the status of a tag, or nil.
func reportOf(node *v1beta1.NodeImage, image, tag string) *v1beta1.ImageTagStatus {
	tags := node.Status.ImageStatuses[image].Tags
	for i := range tags {
		if tags[i].Tag == tag {
			return &tags[i]
		}
	}
	return nil
}
