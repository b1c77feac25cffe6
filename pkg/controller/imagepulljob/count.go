package imagepulljob

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagepull"
)

// census is how the nodes that a job chose stand, each kind in the order in which they are served.
type census struct {
	// unasked were not asked by this job. lacking were, and lack a Secret: they are among one of the other three too.
	unasked, lacking           []*v1beta1.NodeImage
	pulling, succeeded, failed []string
}

// count judges every node. One that was asked and says nothing about this version of the tag counts as pulling: to count it
// as anything less would let the job ask more nodes at once than it may.
func count(chosen []*v1beta1.NodeImage, job types.UID, ref imagepull.Reference, secrets []v1beta1.ReferenceObject) census {
	var c census
	for _, image := range chosen {
		tag := ref.Wanted(image)
		if tag == nil || !imagepull.OwnedBy(tag, job) {
			c.unasked = append(c.unasked, image)
			continue
		}
		if lacks(image.Spec.Images[ref.Name].PullSecrets, secrets) {
			c.lacking = append(c.lacking, image)
		}
		answer := ref.Answer(image, tag.Version)
		switch {
		case answer != nil && answer.Phase == v1beta1.ImagePhaseSucceeded:
			c.succeeded = append(c.succeeded, image.Name)
		case answer != nil && answer.Phase == v1beta1.ImagePhaseFailed:
			c.failed = append(c.failed, image.Name)
		default:
			c.pulling = append(c.pulling, image.Name)
		}
	}
	return c
}

// status is what the job reports now. Its end is decided here: with it, nothing more is asked of any node.
func (c *census) status(job *v1beta1.ImagePullJob, now time.Time) v1beta1.ImagePullJobStatus {
	moment := metav1.NewTime(now).Rfc3339Copy()
	status := v1beta1.ImagePullJobStatus{
		StartTime: job.Status.StartTime, Desired: int32(len(c.unasked) + len(c.pulling) + len(c.succeeded) + len(c.failed)),
		Active: int32(len(c.pulling)), Succeeded: int32(len(c.succeeded)), Failed: int32(len(c.failed)),
		FailedNodes: slices.Sorted(slices.Values(c.failed)),
	}
	if status.StartTime == nil {
		status.StartTime = &moment
	}
	ended := status.Succeeded+status.Failed == status.Desired
	switch {
	case !endless(job) && ended:
		status.CompletionTime, status.Message = &moment, "job has completed"
	case !endless(job) && deadlineIn(job, &status, now) <= 0:
		c.expire(&status)
		status.CompletionTime, status.Message = &moment, "job exceeds activeDeadlineSeconds"
	case status.Desired == 0:
		status.Message = "job is running, no progress"
	default:
		done := 100 * float64(status.Succeeded+status.Failed) / float64(status.Desired)
		status.Message = fmt.Sprintf("job is running, progress %.1f%%", done)
	}
	return status
}

// expire counts every node that has not ended as failed.
func (c *census) expire(status *v1beta1.ImagePullJobStatus) {
	failed := slices.Concat(c.failed, c.pulling)
	for _, image := range c.unasked {
		failed = append(failed, image.Name)
	}
	slices.Sort(failed)
	status.Active, status.Failed, status.FailedNodes = 0, int32(len(failed)), failed
}

// endless tells whether a job never ends.
func endless(job *v1beta1.ImagePullJob) bool {
	return job.Spec.CompletionPolicy.Type == v1beta1.CompletionPolicyNever
}

// noDeadline is longer than any.
const noDeadline = time.Duration(1<<63 - 1)

// deadlineIn is in how long the job has taken as long as it may.
func deadlineIn(job *v1beta1.ImagePullJob, status *v1beta1.ImagePullJobStatus, now time.Time) time.Duration {
	seconds := job.Spec.CompletionPolicy.ActiveDeadlineSeconds
	if seconds == nil || endless(job) || *seconds > int64(noDeadline/time.Second) {
		return noDeadline
	}
	return time.Duration(*seconds)*time.Second - now.Sub(status.StartTime.Time)
}

// parallelism is on how many nodes the image may be pulled at once. What is no number pauses the job: it is refused when it is
// written, and to guess would be worse.
func parallelism(value *intstr.IntOrString) int {
	limit := ptr.Deref(value, intstr.FromInt32(1))
	if limit.Type == intstr.Int {
		return limit.IntValue()
	}
	number, err := strconv.Atoi(limit.StrVal)
	if err != nil {
		return 0
	}
	return number
}

// lacks tells whether one of the wanted Secrets is not among those that are named.
func lacks(named, wanted []v1beta1.ReferenceObject) bool {
	return slices.ContainsFunc(wanted, func(ref v1beta1.ReferenceObject) bool { return !names(named, ref) })
}

// names tells whether a Secret is named, for however long.
func names(named []v1beta1.ReferenceObject, ref v1beta1.ReferenceObject) bool {
	return slices.ContainsFunc(named, func(n v1beta1.ReferenceObject) bool { return n.Namespace == ref.Namespace && n.Name == ref.Name })
}
