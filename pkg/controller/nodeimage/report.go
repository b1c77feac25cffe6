package nodeimage

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/imagetag"
)

const (
	// responseTimeout is how long a node may take to report on a tag.
	responseTimeout = 10 * time.Minute
	// countsPatience is how long the controller leaves the counts of a new tag to the node agent, which counts with its first
	// report. Two concurrent writers of one status would only cause conflicts.
	countsPatience = 5 * time.Second
	// pause is the maximum delay between two attempts of an agent.
	pause = 30 * time.Second
	// mostLongest limits the sum of the times of all pulls of a node. It is about 70 years, and more than 292 years overflow.
	mostLongest = math.MaxInt32 * time.Second

	// silent and late are the messages of failed tags. Events and jobs show them.
	silent = "node has not responded for a long time"
	late   = "pulling exceeds the activeDeadlineSeconds"
)

// failure is a tag that the controller marked as failed.
type failure struct {
	ref     imagetag.Reference
	message string
	owners  []corev1.ObjectReference
}

// report computes the new status: it removes entries that the spec no longer has, marks overdue tags as failed, and counts the
// rest. If the node is not ready, notReady is since when. recheck is the delay until the next call is due; zero means never.
// image is not changed. The node agent writes the same status, so report changes as little as possible of it.
func report(image *v1beta1.NodeImage, notReady *time.Time, now time.Time) (
	status v1beta1.NodeImageStatus, failures []failure, recheck time.Duration,
) {
	// after gets the changes of the status, and image stays what the decisions are made from.
	after := image.DeepCopy()
	status = after.Status
	pruned := prune(after)
	var newest time.Time
	longest := longestPulls(image)
	for _, name := range slices.Sorted(maps.Keys(image.Spec.Images)) {
		for i := range image.Spec.Images[name].Tags {
			tag := &image.Spec.Images[name].Tags[i]
			ref := imagetag.Reference{Name: name, Tag: tag.Tag}
			// The next clean removes such a tag.
			if tag.CreatedAt == nil {
				continue
			}
			newest = latest(newest, tag.CreatedAt.Time)
			due, message := overdue(tag, ref.Answer(image, tag.Version), notReady, longest)
			switch {
			case due.IsZero():
			case due.After(now):
				recheck = delay.Sooner(recheck, due.Sub(now))
			default:
				fail(after, ref, tag.Version, message, now)
				failures = append(failures, failure{ref: ref, message: message, owners: tag.OwnerReferences})
			}
		}
	}
	status.ImageStatuses = after.Status.ImageStatuses
	// The entries are shared; only the counts differ.
	counted := status
	count(&counted, &image.Spec)
	// The counts are written together with another change, or when the agent has had enough time to count.
	if pruned || len(failures) > 0 || !now.Before(newest.Add(countsPatience)) {
		return counted, failures, recheck
	}
	// The counts are wrong, but still left to the agent.
	if !sameCounts(&counted, &status) {
		recheck = delay.Sooner(recheck, newest.Add(countsPatience).Sub(now))
	}
	return status, failures, recheck
}

// overdue returns when an unfinished tag counts as failed, and why. The zero time means never. The times in an answer are not
// trusted: an agent may be broken, and its token may be stolen. Whatever they say, a tag is overdue after the time that all
// pulls of the node may take one after the other. answer is nil if the agent has not reported this version of the tag.
func overdue(
	tag *v1beta1.ImageTagSpec, answer *v1beta1.ImageTagStatus, notReady *time.Time, longest time.Duration,
) (due time.Time, message string) {
	if answer == nil {
		return tag.CreatedAt.Add(responseTimeout), silent
	}
	if answer.CompletionTime != nil {
		return time.Time{}, ""
	}
	due, message = tag.CreatedAt.Add(longest+responseTimeout), silent
	if answer.StartTime != nil {
		// A live agent reports the end of a pull after its last attempt, whatever the result.
		due = earliest(due, answer.StartTime.Add(longestPull(tag)+responseTimeout))
	}
	// The agent of a node that is not ready may be unable to report. The time counts from the later of both.
	if notReady != nil {
		due = earliest(due, latest(*notReady, tag.CreatedAt.Time).Add(responseTimeout))
	}
	// The agent ends the pull at the deadline itself. It gets responseTimeout to say so.
	if deadline := imagetag.LimitsOf(tag).Deadline; deadline > 0 {
		if limit := tag.CreatedAt.Add(deadline + responseTimeout); limit.Before(due) {
			due, message = limit, late
		}
	}
	return due, message
}

// longestPulls returns the longest time that a live agent needs for all tags of a node, one after the other. An agent may pull
// several at the same time, so this is an upper limit.
func longestPulls(image *v1beta1.NodeImage) (sum time.Duration) {
	for name := range image.Spec.Images {
		tags := image.Spec.Images[name].Tags
		for i := range tags {
			sum = min(sum+longestPull(&tags[i]), mostLongest)
		}
	}
	return sum
}

// longestPull returns the longest time between the start and the end of a pull: each attempt takes its timeout, and a pause
// follows it.
func longestPull(tag *v1beta1.ImageTagSpec) time.Duration {
	return imagetag.LimitsOf(tag).Longest(pause)
}

// fail marks a tag as failed in the status. If the agent has begun this version of the tag, its start time and progress stay.
func fail(image *v1beta1.NodeImage, ref imagetag.Reference, version int64, message string, now time.Time) {
	entry := image.Status.ImageStatuses[ref.Name]
	ended := new(metav1.NewTime(now).Rfc3339Copy())
	failed := v1beta1.ImageTagStatus{Tag: ref.Tag, Phase: v1beta1.ImagePhaseFailed, Version: version, CompletionTime: ended, Message: message}
	if before := ref.Reported(image); before != nil {
		if before.Version == version {
			failed.StartTime, failed.Progress = before.StartTime, before.Progress
		}
		// before points into the status, so this replaces the entry.
		*before = failed
		return
	}
	entry.Tags = append(entry.Tags, failed)
	slices.SortFunc(entry.Tags, func(a, b v1beta1.ImageTagStatus) int { return cmp.Compare(a.Tag, b.Tag) })
	if image.Status.ImageStatuses == nil {
		image.Status.ImageStatuses = map[string]v1beta1.ImageStatus{}
	}
	image.Status.ImageStatuses[ref.Name] = entry
}

// prune removes status entries that the spec does not have, and returns whether there were any. An image without entries is
// removed too. These are entries of tags that were deleted from the spec.
func prune(image *v1beta1.NodeImage) (pruned bool) {
	for name, entry := range image.Status.ImageStatuses {
		before := len(entry.Tags)
		entry.Tags = slices.DeleteFunc(entry.Tags, func(tag v1beta1.ImageTagStatus) bool {
			return imagetag.Reference{Name: name, Tag: tag.Tag}.Wanted(image) == nil
		})
		pruned = pruned || len(entry.Tags) < before || len(entry.Tags) == 0
		if len(entry.Tags) == 0 {
			delete(image.Status.ImageStatuses, name)
			continue
		}
		image.Status.ImageStatuses[name] = entry
	}
	return pruned
}

// count sets the counts. Desired comes from the spec, the others from what the status says. Tags without an answer are in no
// other count.
func count(status *v1beta1.NodeImageStatus, spec *v1beta1.NodeImageSpec) {
	status.Desired, status.Succeeded, status.Failed, status.Pulling, status.Waiting = 0, 0, 0, 0, 0
	for _, entry := range spec.Images {
		status.Desired += int32(len(entry.Tags))
	}
	for _, entry := range status.ImageStatuses {
		for i := range entry.Tags {
			switch entry.Tags[i].Phase {
			case v1beta1.ImagePhaseSucceeded:
				status.Succeeded++
			case v1beta1.ImagePhaseFailed:
				status.Failed++
			case v1beta1.ImagePhasePulling:
				status.Pulling++
			case v1beta1.ImagePhaseWaiting:
				status.Waiting++
			}
		}
	}
}

// sameCounts reports whether two statuses have the same counts.
func sameCounts(a, b *v1beta1.NodeImageStatus) bool {
	return a.Desired == b.Desired && a.Succeeded == b.Succeeded && a.Failed == b.Failed && a.Pulling == b.Pulling && a.Waiting == b.Waiting
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
