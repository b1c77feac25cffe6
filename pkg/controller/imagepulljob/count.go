package imagepulljob

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// census groups the nodes that a job selected by their state. Each node is in exactly one of unasked, pulling, succeeded and failed.
// Each group keeps the order in which nodes are asked.
type census struct {
	// unasked are nodes that the job did not ask yet. outdated are nodes that it asked before its Secrets or its pull policy changed; they
	// are also in pulling, succeeded or failed.
	unasked, outdated          []*v1beta1.NodeImage
	pulling, succeeded, failed []string
	// silent is how many of the nodes in pulling do not report. soon is the time until the next one counts as silent, or zero.
	silent int
	soon   time.Duration
}

// silence is how long a node holds a place of its job's parallelism without reporting that it has seen the tag. A working agent
// reports within a few seconds, so such a node has none and pulls nothing. It fails after the response timeout.
const silence = time.Minute

// count groups the nodes. A node in refused counts as failed unless it was asked before. A node that was asked but has not
// reported this version of the tag counts as pulling. Otherwise the job could ask more nodes at once than its parallelism allows.
func (q *request) count(chosen []*v1beta1.NodeImage, refused map[string]bool) census {
	var c census
	for _, image := range chosen {
		// The job has not asked this node, or the tag has expired since.
		tag := q.ref.Wanted(image)
		if tag == nil || !imagetag.OwnedBy(tag, q.job.UID) {
			if refused[image.Name] {
				c.failed = append(c.failed, image.Name)
			} else {
				c.unasked = append(c.unasked, image)
			}
			continue
		}
		if lacks(image.Spec.Images[q.ref.Name].PullSecrets, q.secrets) || q.policyChanged(tag) {
			c.outdated = append(c.outdated, image)
		}
		// An answer to an older version belongs to an earlier request.
		answer := q.ref.Answer(image, tag.Version)
		switch {
		case answer != nil && answer.Phase == v1beta1.ImagePhaseSucceeded:
			c.succeeded = append(c.succeeded, image.Name)
		// The agent has made all its attempts, or a controller has ended the pull.
		case answer != nil && answer.Phase == v1beta1.ImagePhaseFailed:
			c.failed = append(c.failed, image.Name)
		default:
			c.pulling = append(c.pulling, image.Name)
			// A node that reports any phase has a working agent.
			if answer == nil {
				c.listen(tag, q.now)
			}
		}
	}
	return c
}

// listen counts a node that has not reported on a tag. A tag without a creation time never counts as silent.
func (c *census) listen(tag *v1beta1.ImageTagSpec, now time.Time) {
	if tag.CreatedAt == nil {
		return
	}
	left := tag.CreatedAt.Add(silence).Sub(now)
	switch {
	case left <= 0:
		c.silent++
	case c.soon == 0 || left < c.soon:
		c.soon = max(left, time.Second)
	}
}

// status returns the job's new status. It decides whether the job has ended. An ended job asks no further nodes. It is computed from
// the objects alone, so a restart of the controller changes nothing.
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
	// A job that selects no node has nothing to do, so it has ended too.
	ended := status.Succeeded+status.Failed == status.Desired
	switch {
	// A job whose nodes have all answered is complete, even if its deadline passed meanwhile.
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

// refuse moves nodes that have refused from the unasked to the failed ones. The names were not asked, so they are not in another
// group.
func (c *census) refuse(names []string) {
	c.failed = append(c.failed, names...)
	c.unasked = slices.DeleteFunc(slices.Clone(c.unasked), func(image *v1beta1.NodeImage) bool {
		return slices.Contains(names, image.Name)
	})
}

// expire counts every unfinished node as failed. Pulls that are still going on continue on their nodes.
func (c *census) expire(status *v1beta1.ImagePullJobStatus) {
	failed := slices.Concat(c.failed, c.pulling)
	for _, image := range c.unasked {
		failed = append(failed, image.Name)
	}
	slices.Sort(failed)
	status.Active, status.Failed, status.FailedNodes = 0, int32(len(failed)), failed
}

// endless reports whether a job never ends. It serves new nodes and expired tags until it is deleted.
func endless(job *v1beta1.ImagePullJob) bool {
	return job.Spec.CompletionPolicy.Type == v1beta1.CompletionPolicyNever
}

// noDeadline is the longest possible duration.
const noDeadline = time.Duration(1<<63 - 1)

// deadlineIn returns the time left until activeDeadlineSeconds. It returns noDeadline if there is none, or if it is longer than a
// Duration can hold. It can be negative.
func deadlineIn(job *v1beta1.ImagePullJob, status *v1beta1.ImagePullJobStatus, now time.Time) time.Duration {
	seconds := job.Spec.CompletionPolicy.ActiveDeadlineSeconds
	if seconds == nil || endless(job) || *seconds > int64(noDeadline/time.Second) {
		return noDeadline
	}
	return time.Duration(*seconds)*time.Second - now.Sub(status.StartTime.Time)
}

// parallelism returns how many nodes may pull the image at once. A value that is not a number pauses the job. Validation rejects such
// a value, and any guess could be wrong. Zero pauses a job, and the default is 1.
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

// lacks reports whether one of the wanted Secrets is not in named.
func lacks(named, wanted []v1beta1.ReferenceObject) bool {
	return slices.ContainsFunc(wanted, func(ref v1beta1.ReferenceObject) bool { return !names(named, ref) })
}

// names reports whether a Secret is in named, in any mode. The mode says who removes the reference, not which Secret it is.
func names(named []v1beta1.ReferenceObject, ref v1beta1.ReferenceObject) bool {
	return slices.ContainsFunc(named, func(n v1beta1.ReferenceObject) bool { return n.Namespace == ref.Namespace && n.Name == ref.Name })
}
