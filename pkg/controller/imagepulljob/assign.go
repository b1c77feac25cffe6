package imagepulljob

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
)

const (
	// The tag of a job that never ends is pulled again about once a day. The spread keeps the nodes from pulling at the same time.
	// All values are in seconds.
	daySeconds, daySpread = 86400, 600
	// endlessDeadline is the deadline of one pull of a job that never ends, in seconds.
	endlessDeadline = 1800
	// endingSpread spreads the expiry of one job's tags, in seconds.
	endingSpread = 300
)

// request is what a job asks nodes for. It is made for one pass, and is the same for all nodes.
type request struct {
	job *v1beta1.ImagePullJob
	ref imagetag.Reference
	// secrets are references to the copies, not to the Secrets of the user.
	secrets []v1beta1.ReferenceObject
	tagTTL  time.Duration
	now     time.Time
	// random returns a number in [0, n).
	random func(n int32) int32
	// last returns the last version of a removed tag; -1 if none.
	last   func(node string) int64
	copies *copies
}

// assign adds the job's image to the given NodeImage, which the caller owns. It returns whether it changed anything. A tag that the
// job already owns keeps its version: a new one would start the pull again in each pass. A tag of another job gets the next version,
// so it is pulled for this job too, and then both jobs own it.
func (q *request) assign(image *v1beta1.NodeImage) bool {
	entry := image.Spec.Images[q.ref.Name]
	tag := q.ref.Wanted(image)
	// What users can change while the job runs is its Secrets and how its image is pulled. The pull goes on with the new policy.
	if tag != nil && imagetag.OwnedBy(tag, q.job.UID) {
		changed := q.addSecrets(&entry)
		if q.policyChanged(tag) {
			tag.PullPolicy, changed = q.pullPolicy(), true
		}
		if changed {
			image.Spec.Images[q.ref.Name] = entry
		}
		return changed
	}
	if tag == nil {
		entry.Tags = append(slices.Clone(entry.Tags), v1beta1.ImageTagSpec{Tag: q.ref.Tag, Version: q.firstVersion(image)})
		// The API stores tags sorted. The position of the new tag is searched again, because sorting moves it.
		slices.SortStableFunc(entry.Tags, func(a, b v1beta1.ImageTagSpec) int { return cmp.Compare(a.Tag, b.Tag) })
		i := slices.IndexFunc(entry.Tags, func(t v1beta1.ImageTagSpec) bool { return t.Tag == q.ref.Tag })
		tag = &entry.Tags[i]
	} else {
		tag.Version++
	}
	tag.OwnerReferences = append(tag.OwnerReferences, ownerRef(q.job))
	tag.CreatedAt = new(metav1.NewTime(q.now).Rfc3339Copy())
	tag.ImagePullPolicy = q.job.Spec.ImagePullPolicy
	tag.PullPolicy = q.pullPolicy()
	// The settings of the last job apply to the whole entry.
	entry.SandboxConfig = q.job.Spec.SandboxConfig.DeepCopy()
	q.addSecrets(&entry)
	if image.Spec.Images == nil {
		image.Spec.Images = map[string]v1beta1.ImageSpec{}
	}
	image.Spec.Images[q.ref.Name] = entry
	return true
}

// firstVersion returns a version higher than any that the node had for the tag. Otherwise an old status could pass for an answer to
// the new tag. The report can be of the removed tag, and versions of removed tags are kept in memory. After a restart of the
// controller, only the report is left.
func (q *request) firstVersion(image *v1beta1.NodeImage) int64 {
	last := q.last(image.Name)
	if report := q.ref.Reported(image); report != nil {
		last = max(last, report.Version)
	}
	if last == math.MaxInt64 {
		return 0 // Only a false report or a user has set it. No later version exists, and an answer to another one does not count.
	}
	return last + 1
}

// addSecrets adds the references that the entry lacks. References of other jobs stay as long as their copies exist. The entry may stay
// for long, so it would collect references.
func (q *request) addSecrets(entry *v1beta1.ImageSpec) (added bool) {
	for _, secret := range q.secrets {
		if !names(entry.PullSecrets, secret) {
			if !added {
				entry.PullSecrets = slices.DeleteFunc(slices.Clone(entry.PullSecrets), func(ref v1beta1.ReferenceObject) bool {
					return q.copies.dead(&ref)
				})
			}
			entry.PullSecrets, added = append(entry.PullSecrets, secret), true
		}
	}
	return added
}

// pullPolicy returns the limits of the tag. The tag lives somewhat longer than the job may take. Otherwise the tag could expire while
// the job still counts it.
func (q *request) pullPolicy() *v1beta1.ImageTagPullPolicy {
	limits := ptr.Deref(q.job.Spec.PullPolicy, v1beta1.PullPolicy{})
	timeout := ptr.Deref(limits.TimeoutSeconds, int32(imagetag.DefaultTimeout/time.Second))
	backoff := ptr.Deref(limits.BackoffLimit, imagetag.DefaultRetries)
	policy := &v1beta1.ImageTagPullPolicy{TimeoutSeconds: &timeout, BackoffLimit: &backoff}
	completion := &q.job.Spec.CompletionPolicy
	var ttl int64
	if endless(q.job) {
		policy.ActiveDeadlineSeconds = new(max(endlessDeadline, int64(timeout)))
		ttl = daySeconds - daySpread + int64(q.random(2*daySpread))
	} else {
		policy.ActiveDeadlineSeconds = completion.ActiveDeadlineSeconds
		// Without a deadline, this is the time of all retries. The TTL of a tag begins when its pull has ended.
		ttl = int64(timeout) * int64(backoff)
		if completion.ActiveDeadlineSeconds != nil {
			ttl = *completion.ActiveDeadlineSeconds
		}
		if completion.TTLSecondsAfterFinished != nil {
			ttl = int64(*completion.TTLSecondsAfterFinished)
		}
		// The job cannot be deleted before its TTL, so its tags live that long, too. The limits keep the sum from overflowing.
		ttl = min(max(ttl, 0), math.MaxInt32) + int64(q.tagTTL/time.Second) + int64(q.random(endingSpread))
	}
	policy.TTLSecondsAfterFinished = new(int32(min(ttl, math.MaxInt32)))
	return policy
}

// policyChanged reports whether the tag still has an earlier pull policy of the job. The policy of the last job that asked for a tag
// applies. The TTL is not compared, because it has a random part.
func (q *request) policyChanged(tag *v1beta1.ImageTagSpec) bool {
	if last := len(tag.OwnerReferences) - 1; last < 0 || tag.OwnerReferences[last].UID != q.job.UID {
		return false
	}
	had, wanted := ptr.Deref(tag.PullPolicy, v1beta1.ImageTagPullPolicy{}), *q.pullPolicy()
	had.TTLSecondsAfterFinished, wanted.TTLSecondsAfterFinished = nil, nil
	return !apiequality.Semantic.DeepEqual(had, wanted)
}

// ownsOther reports whether the job owns a tag other than the one that it asks for now. It lets the caller skip the write.
func ownsOther(image *v1beta1.NodeImage, job types.UID, except imagetag.Reference) bool {
	for name := range image.Spec.Images {
		tags := image.Spec.Images[name].Tags
		for i := range tags {
			if (name != except.Name || tags[i].Tag != except.Tag) && imagetag.OwnedBy(&tags[i], job) {
				return true
			}
		}
	}
	return false
}

// disown removes the job from every tag but the one that it asks for now, because the job's image may have changed. It changes the
// given object, which the caller owns, and returns whether anything changed. A tag of which the job was the only owner is removed.
func disown(image *v1beta1.NodeImage, job types.UID, except imagetag.Reference) (changed bool) {
	for name, entry := range image.Spec.Images {
		for i := range entry.Tags {
			tag := &entry.Tags[i]
			// Tags of other jobs stay as they are.
			if name == except.Name && tag.Tag == except.Tag || !imagetag.OwnedBy(tag, job) {
				continue
			}
			changed = true
			// A tag without an owner would look like one that a user wrote, and would stay until its TTL. The empty name marks it for
			// removal.
			tag.OwnerReferences = slices.DeleteFunc(tag.OwnerReferences, func(ref corev1.ObjectReference) bool { return ref.UID == job })
			if len(tag.OwnerReferences) == 0 {
				tag.Tag = ""
			}
		}
		entry.Tags = slices.DeleteFunc(entry.Tags, func(tag v1beta1.ImageTagSpec) bool { return tag.Tag == "" })
		// An entry without tags would count against the limit of images.
		if len(entry.Tags) == 0 {
			delete(image.Spec.Images, name)
			continue
		}
		image.Spec.Images[name] = entry
	}
	return changed
}
