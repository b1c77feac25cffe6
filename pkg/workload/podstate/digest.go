package podstate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// DigestProof is what the status of a container says about an image that its spec names by a digest.
type DigestProof int

const (
	// DigestUnknown means that the two cannot be compared: the spec has no digest, or the image ID in the status has none. Some runtimes
	// report the ID of the image's configuration, as in "sha256:…", which is another kind of digest.
	DigestUnknown DigestProof = iota
	// DigestRuns means that the node runs the image of the spec.
	DigestRuns
	// DigestDiffers means that the node runs another image.
	DigestDiffers
)

// RunsDigest compares the image of a container of the Pod with the running one.
func RunsDigest(pod *corev1.Pod, container *corev1.Container) DigestProof {
	_, wanted, found := strings.Cut(container.Image, "@")
	status := ContainerStatus(pod, container.Name)
	if !found || status == nil {
		return DigestUnknown
	}
	switch _, running, has := strings.Cut(status.ImageID, "@"); {
	case !has:
		return DigestUnknown
	case running == wanted:
		return DigestRuns
	default:
		return DigestDiffers
	}
}

// ContainerStatus returns the status of a container, or nil if the node has not reported it.
func ContainerStatus(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
