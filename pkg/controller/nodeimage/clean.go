package nodeimage

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// ownerState is the state of a tag's owner.
type ownerState int

const (
	// ownerPresent: the owner exists, or its state is unknown.
	ownerPresent ownerState = iota
	// ownerDeleted: the owner was deleted.
	ownerDeleted
	// ownerActive: the owner is a job that will end but has not ended yet. It counts the tag until then.
	ownerActive
)

// cleaner removes tags and Secrets from a spec that nothing needs any more. Its functions may ask the API server.
type cleaner struct {
	now   time.Time
	owner func(*corev1.ObjectReference) ownerState
	// withdrawn reports whether the Secret of a reference does not exist.
	withdrawn func(*v1beta1.ReferenceObject) bool
}

// clean changes the spec of the given object, which the caller owns. It returns the delay until the next tag expires; zero
// means never. The owners are removed before the expiry is checked, because a job that was deleted no longer counts.
func (c *cleaner) clean(image *v1beta1.NodeImage) (recheck time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(image.Spec.Images)) {
		entry := image.Spec.Images[name]
		// The slices belong to the caller's copy, so they are changed in place.
		entry.Tags = slices.DeleteFunc(entry.Tags, func(tag v1beta1.ImageTagSpec) bool { return c.forgotten(&tag) })
		for i := range entry.Tags {
			c.disown(&entry.Tags[i])
		}
		entry.Tags = slices.DeleteFunc(entry.Tags, func(tag v1beta1.ImageTagSpec) bool {
			due, expires := c.expiry(image, imagetag.Reference{Name: name, Tag: tag.Tag}, &tag)
			if expires && due > 0 {
				recheck = delay.Sooner(recheck, due)
			}
			return expires && due <= 0
		})
		if len(entry.Tags) == 0 {
			delete(image.Spec.Images, name)
			continue
		}
		// A reference in batch mode stays as long as the entry. Any other is removed when its Secret does not exist.
		entry.PullSecrets = slices.DeleteFunc(entry.PullSecrets, func(ref v1beta1.ReferenceObject) bool {
			return ref.Mode != v1beta1.BatchReferenceMode && c.withdrawn(&ref)
		})
		image.Spec.Images[name] = entry
	}
	return recheck
}

// forgotten reports whether a tag must be removed: it has no creation time, or it had owners and all of them were deleted. A tag
// that never had owners belongs to a user.
func (c *cleaner) forgotten(tag *v1beta1.ImageTagSpec) bool {
	if tag.CreatedAt == nil {
		return true
	}
	left := func(ref corev1.ObjectReference) bool { return c.owner(&ref) != ownerDeleted }
	return len(tag.OwnerReferences) > 0 && !slices.ContainsFunc(tag.OwnerReferences, left)
}

// disown removes the owners of a tag that were deleted.
func (c *cleaner) disown(tag *v1beta1.ImageTagSpec) {
	deleted := func(ref corev1.ObjectReference) bool { return c.owner(&ref) == ownerDeleted }
	tag.OwnerReferences = slices.DeleteFunc(tag.OwnerReferences, deleted)
}

// expiry returns the time until a finished tag expires, and whether it expires at all. A tag that a job still counts does not
// expire. Otherwise the job would find the node without the tag and ask it again. A job that takes longer than the TTL would
// then never end.
func (c *cleaner) expiry(image *v1beta1.NodeImage, ref imagetag.Reference, tag *v1beta1.ImageTagSpec) (time.Duration, bool) {
	answer := ref.Answer(image, tag.Version)
	if answer == nil || answer.CompletionTime == nil || tag.PullPolicy == nil || tag.PullPolicy.TTLSecondsAfterFinished == nil {
		return 0, false
	}
	counts := func(ref corev1.ObjectReference) bool { return c.owner(&ref) == ownerActive }
	if slices.ContainsFunc(tag.OwnerReferences, counts) {
		return 0, false
	}
	ttl := time.Duration(*tag.PullPolicy.TTLSecondsAfterFinished) * time.Second
	return answer.CompletionTime.Add(ttl).Sub(c.now), true
}
