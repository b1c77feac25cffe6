package create

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// progress says how far a restart of containers or a pull of images is. failed is only true at the end. An object
// that cannot be read ends the wait as a failure.
func progress(object *unstructured.Unstructured) (line string, ended, failed bool) {
	if object.GetKind() == "ImagePullJob" {
		job := &v1beta1.ImagePullJob{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err == nil {
			return pullProgress(job)
		}
	}
	request := &v1beta1.ContainerRecreateRequest{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, request); err != nil {
		return err.Error(), true, true
	}
	return restartProgress(request)
}

// restartProgress returns the phase of the request and of each container, with their messages.
func restartProgress(request *v1beta1.ContainerRecreateRequest) (line string, ended, failed bool) {
	parts := []string{phaseOf(request.Status.Phase)}
	for _, state := range request.Status.ContainerRecreateStates {
		part := state.Name + "=" + phaseOf(state.Phase)
		if state.Message != "" {
			part += " (" + state.Message + ")"
		}
		failed = failed || state.Phase == v1beta1.ContainerRecreateRequestFailed
		parts = append(parts, part)
	}
	if request.Status.Message != "" {
		parts = append(parts, request.Status.Message)
	}
	// With the policy Ignore, a request can be completed although a container failed.
	ended = request.Status.CompletionTime != nil
	failed = ended && (failed || request.Status.Phase == v1beta1.ContainerRecreateRequestFailed)
	return strings.Join(parts, " "), ended, failed
}

// phaseOf returns a phase. A request that no agent has seen has none, which means the same as Pending.
func phaseOf(phase v1beta1.ContainerRecreateRequestPhase) string {
	if phase == "" {
		return string(v1beta1.ContainerRecreateRequestPending)
	}
	return string(phase)
}

// pullProgress returns how many nodes have the image. One failed node makes the whole pull fail.
func pullProgress(job *v1beta1.ImagePullJob) (line string, ended, failed bool) {
	s := job.Status
	line = fmt.Sprintf("%d of %d nodes have the image, %d pull, %d failed", s.Succeeded, s.Desired, s.Active, s.Failed)
	if len(s.FailedNodes) > 0 {
		line += ": " + strings.Join(s.FailedNodes, ", ")
	}
	ended = s.CompletionTime != nil
	return line, ended, ended && s.Failed > 0
}
