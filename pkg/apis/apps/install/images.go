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
		for i := range image.Tags {
			tag := &image.Tags[i]
			stored := storedTag(old, name, tag.Tag)
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

// storedTag returns the stored tag of an image, or an empty one.
func storedTag(old *apps.NodeImage, image, tag string) apps.ImageTagSpec {
	if old == nil {
		return apps.ImageTagSpec{}
	}
	tags := old.Spec.Images[image].Tags
	if i := slices.IndexFunc(tags, func(stored apps.ImageTagSpec) bool { return stored.Tag == tag }); i >= 0 {
		return tags[i]
	}
	return apps.ImageTagSpec{}
}

// DefaultImagePullJob gives a new job the finalizer that lets the controller remove its copies of pull secrets. A job without pull
// secrets gets it too: after its deletion, clients can read the job until the
// controller removes the finalizer.
func DefaultImagePullJob(job, old *apps.ImagePullJob) {
	if old == nil && !slices.Contains(job.Finalizers, pub.DeletionProtectionFinalizer) {
		job.Finalizers = append(slices.Clone(job.Finalizers), pub.DeletionProtectionFinalizer)
	}
}
