package install

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// DefaultNodeImage sets the time of the write on tags that are new or have a new version, unless the writer chose a time. old is the
// stored object, nil on create.
func DefaultNodeImage(nodeImage, old *apps.NodeImage) {
	now := metav1.Now().Rfc3339Copy()
	for name, image := range nodeImage.Spec.Images {
		before := storedTags(old, name)
		for i := range image.Tags {
			tag := &image.Tags[i]
			stored := before[tag.Tag]
			switch {
			case tag.CreatedAt == nil && stored.Version == tag.Version:
				tag.CreatedAt = stored.CreatedAt
			// A client that reads the object and raises the version sends the time of the old version.
			case stored.Version != tag.Version && tag.CreatedAt.Equal(stored.CreatedAt):
				tag.CreatedAt = nil
			}
			if tag.CreatedAt == nil {
				tag.CreatedAt = now.DeepCopy()
			}
		}
	}
}

// storedTags returns the stored tags of an image by name. If a name is there twice, the first one counts.
func storedTags(old *apps.NodeImage, image string) map[string]apps.ImageTagSpec {
	if old == nil {
		return nil
	}
	tags := make(map[string]apps.ImageTagSpec, len(old.Spec.Images[image].Tags))
	for _, tag := range slices.Backward(old.Spec.Images[image].Tags) {
		tags[tag.Tag] = tag
	}
	return tags
}

// DefaultImagePullJob gives a new job the finalizer that lets the controller remove its copies of pull secrets. A job without pull
// secrets gets it too: after its deletion, clients can read the job until the
// controller removes the finalizer.
func DefaultImagePullJob(job, old *apps.ImagePullJob) {
	if old == nil && !slices.Contains(job.Finalizers, pub.DeletionProtectionFinalizer) {
		job.Finalizers = append(slices.Clone(job.Finalizers), pub.DeletionProtectionFinalizer)
	}
}
