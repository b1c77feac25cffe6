package install

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// DefaultNodeImage sets the time of the write on tags that are new or have a new version. old is the
// stored object, nil on create.
func DefaultNodeImage(nodeImage, old *apps.NodeImage) {
	now := metav1.Now().Rfc3339Copy()
	for name, image := range nodeImage.Spec.Images {
		for i := range image.Tags {
			tag := &image.Tags[i]
			if tag.CreatedAt == nil {
				tag.CreatedAt = createdAt(old, name, tag)
			}
			if tag.CreatedAt == nil {
				tag.CreatedAt = now.DeepCopy()
			}
		}
	}
}

// createdAt is the time of the stored tag, or nil.
func createdAt(old *apps.NodeImage, image string, tag *apps.ImageTagSpec) *metav1.Time {
	if old == nil {
		return nil
	}
	for _, stored := range old.Spec.Images[image].Tags {
		if stored.Tag == tag.Tag && stored.Version == tag.Version {
			return stored.CreatedAt
		}
	}
	return nil
}

// DefaultImagePullJob gives a new job with pull secrets the finalizer that lets the controller remove its
// copies of them. A job cannot get secrets later, so a job without secrets does not need the finalizer.
func DefaultImagePullJob(job, old *apps.ImagePullJob) {
	if old == nil && len(job.Spec.PullSecrets) > 0 && !slices.Contains(job.Finalizers, pub.DeletionProtectionFinalizer) {
		job.Finalizers = append(slices.Clone(job.Finalizers), pub.DeletionProtectionFinalizer)
	}
}
