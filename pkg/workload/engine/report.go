package engine

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/workload/disruption"
)

// Act is what a write does.
type Act int

const (
	// Create creates a Pod or a claim.
	Create Act = iota
	// Delete deletes a Pod.
	Delete
	// Edit changes a Pod or a claim.
	Edit
	// Expand makes a claim larger.
	Expand
	// UpdateInPlace brings a Pod to its revision in place.
	UpdateInPlace
	// MarkForDeletion brings a Pod to its revision by recreation.
	MarkForDeletion
)

// Result is the result of a write, for the event about it.
type Result struct {
	Act Act
	// Pod is the name of the Pod. If a claim was written, Claim is its name, and Pod is the Pod that mounts it.
	Pod, Claim string
	// Revision is the target of an update.
	Revision string
	Err      error
}

// tell sends the event about a write. Results that Describe gives no reason have no event. An event about an error is a
// warning.
func (x *execution) tell(result Result) {
	describe := x.view.Describe
	if describe == nil {
		describe = (*Result).describe
	}
	reason, message := describe(&result)
	if reason == "" {
		return
	}
	eventType := corev1.EventTypeNormal
	if result.Err != nil {
		eventType = corev1.EventTypeWarning
	}
	x.Recorder.Event(x.view.Object, eventType, reason, message)
	if x.view.TellDeletionTwice && result.Act == Delete && result.Err != nil {
		reason, message = result.describe()
		x.Recorder.Event(x.view.Object, eventType, reason, message)
	}
}

// describe returns the reason and the message of an event in the engine's own words.
func (r *Result) describe() (reason, message string) {
	if r.Err != nil {
		return r.describeFailure()
	}
	switch {
	case r.Claim != "":
		return "", ""
	case r.Act == Create:
		return "SuccessfulCreate", fmt.Sprintf("succeed to create pod %s", r.Pod)
	case r.Act == Delete:
		return "SuccessfulDelete", fmt.Sprintf("succeed to delete pod %s", r.Pod)
	default:
		return r.DescribeUpdate()
	}
}

// describeFailure is describe for a result with an error.
func (r *Result) describeFailure() (reason, message string) {
	switch {
	case r.Act == Create && apierrors.HasStatusCause(r.Err, corev1.NamespaceTerminatingCause):
		return "", "" // All objects in the namespace go away.
	case r.Act == Create && r.Claim != "":
		return "FailedCreate", fmt.Sprintf("failed to create pvc: %v", r.Err)
	case r.Act == Create:
		return "FailedCreate", fmt.Sprintf("failed to create pod: %v", r.Err)
	case r.Act == Delete && r.Claim != "":
		return "FailedDelete", fmt.Sprintf("failed to clean up PVC %s: %v", r.Claim, r.Err)
	case r.Act == Delete:
		return "FailedDelete", fmt.Sprintf("failed to delete pod %s: %v", r.Pod, r.Err)
	case r.Claim != "":
		return "FailedUpdate", fmt.Sprintf("failed to update PVC %s: %v", r.Claim, r.Err)
	default:
		return r.DescribeUpdate()
	}
}

// DescribeUpdate describes an update of a Pod to its revision. All workloads use the same words for it. A refusal by a budget
// has no event, because the Pod is tried again each second.
func (r *Result) DescribeUpdate() (reason, message string) {
	switch {
	case r.Err != nil && disruption.Refused(r.Err):
		return "", ""
	case r.Act == UpdateInPlace && r.Err != nil:
		return "FailedUpdatePodInPlace", fmt.Sprintf("failed to update pod %s in-place(revision %s): %v", r.Pod, r.Revision, r.Err)
	case r.Act == UpdateInPlace:
		return "SuccessfulUpdatePodInPlace", fmt.Sprintf("successfully update pod %s in-place(revision %s)", r.Pod, r.Revision)
	case r.Act == MarkForDeletion && r.Err != nil:
		return "FailedUpdatePodReCreate",
			fmt.Sprintf("failed to patch pod %s specified-delete for update(revision %s): %v", r.Pod, r.Revision, r.Err)
	case r.Act == MarkForDeletion:
		return "SuccessfulUpdatePodReCreate",
			fmt.Sprintf("successfully patch pod %s specified-delete for update(revision %s)", r.Pod, r.Revision)
	default:
		return "", ""
	}
}
