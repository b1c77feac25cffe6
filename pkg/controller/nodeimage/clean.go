package nodeimage

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagepull"
)

// standing is how an owner of a tag stands.
type standing int

const (
	// there exists, or nobody knows better.
	there standing = iota
	// gone does not exist any more.
	gone
	// counting is a job that ends, has not yet, and counts the tag until then.
	counting
)

// cleaner drops from a spec what nobody waits for any more.
type cleaner struct {
	now   time.Time
	owner func(*corev1.ObjectReference) standing
	// withdrawn tells whether the Secret that a reference names does not exist.
	withdrawn func(*v1beta1.ReferenceObject) bool
}

// clean changes the spec of the object given, which the caller owns, and says when to look again; zero is never.
func (c *cleaner) clean(image *v1beta1.NodeImage) (recheck time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(image.Spec.Images)) {
		entry := image.Spec.Images[name]
		entry.Tags = slices.DeleteFunc(entry.Tags, func(tag v1beta1.ImageTagSpec) bool { return c.forgotten(&tag) })
		for i := range entry.Tags {
			c.disown(&entry.Tags[i])
		}
		entry.Tags = slices.DeleteFunc(entry.Tags, func(tag v1beta1.ImageTagSpec) bool {
			due, expires := c.expiry(image, imagepull.Reference{Name: name, Tag: tag.Tag}, &tag)
			if expires && due > 0 {
				recheck = sooner(recheck, due)
			}
			return expires && due <= 0
		})
		if len(entry.Tags) == 0 {
			delete(image.Spec.Images, name)
			continue
		}
		entry.PullSecrets = slices.DeleteFunc(entry.PullSecrets, func(ref v1beta1.ReferenceObject) bool {
			return ref.Mode != v1beta1.BatchReferenceMode && c.withdrawn(&ref)
		})
		image.Spec.Images[name] = entry
	}
	return recheck
}

// forgotten tells whether a tag has no date, or had owners and has none left. One that never had any is a user's.
func (c *cleaner) forgotten(tag *v1beta1.ImageTagSpec) bool {
	if tag.CreatedAt == nil {
		return true
	}
	left := func(ref corev1.ObjectReference) bool { return c.owner(&ref) != gone }
	return len(tag.OwnerReferences) > 0 && !slices.ContainsFunc(tag.OwnerReferences, left)
}

func (c *cleaner) disown(tag *v1beta1.ImageTagSpec) {
	tag.OwnerReferences = slices.DeleteFunc(tag.OwnerReferences, func(ref corev1.ObjectReference) bool { return c.owner(&ref) == gone })
}

// expiry tells whether a finished tag expires, and in how long. Not while a job counts it: the job would find the node without
// the tag, begin there anew, and a job that takes longer than the tag lasts would never end.
func (c *cleaner) expiry(image *v1beta1.NodeImage, ref imagepull.Reference, tag *v1beta1.ImageTagSpec) (time.Duration, bool) {
	answer := ref.Answer(image, tag.Version)
	if answer == nil || answer.CompletionTime == nil || tag.PullPolicy == nil || tag.PullPolicy.TTLSecondsAfterFinished == nil {
		return 0, false
	}
	counts := func(ref corev1.ObjectReference) bool { return c.owner(&ref) == counting }
	if slices.ContainsFunc(tag.OwnerReferences, counts) {
		return 0, false
	}
	ttl := time.Duration(*tag.PullPolicy.TTLSecondsAfterFinished) * time.Second
	return answer.CompletionTime.Add(ttl).Sub(c.now), true
}

// sooner is the shorter of two times, where zero is never.
func sooner(a, b time.Duration) time.Duration {
	switch {
	case a <= 0:
		return b
	case b <= 0:
		return a
	default:
		return min(a, b)
	}
}
