package imagepulljob

import (
	"errors"
	"fmt"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// Limits of a NodeImage. What a tenant writes once is stored for each node. docs/design/0029-bounds-on-nodes.md explains the numbers.
const (
	// mostImages is the limit of the API for the names of images. mostTags and mostBytes limit the tags and the size of all entries.
	mostImages, mostTags, mostBytes = 256, 512, 512 << 10
	// namespaceBytes limits what the jobs of one namespace add, also if there is room.
	namespaceBytes = 64 << 10
	// others is what a namespace must leave free for the others: a third of what it has itself.
	others = 3
)

// errCrowded means that the jobs of a namespace have as much of a NodeImage as they may have.
var errCrowded = errors.New("the image pulls of the namespace have used up their part")

// assignShare assigns, and checks the share of the namespace if the job is new in the NodeImage.
func (q *request) assignShare(image *v1beta1.NodeImage) (bool, error) {
	tag := q.ref.Wanted(image)
	asked := tag != nil && imagetag.OwnedBy(tag, q.job.UID)
	if !q.assign(image) {
		return false, nil
	}
	if asked {
		return true, nil
	}
	return true, q.checkShare(image)
}

// usage is what a NodeImage holds.
type usage struct{ images, tags, bytes int }

// checkShare returns an error if the job's namespace has too much of a NodeImage to which the job was added. So the jobs of one
// namespace never take the room of all others.
func (q *request) checkShare(image *v1beta1.NodeImage) error {
	own, all := q.usage(image)
	switch {
	case own.images > others*(mostImages-all.images):
		return fmt.Errorf("%w: %d of %d images in it are of namespace %s", errCrowded, own.images, all.images, q.job.Namespace)
	case own.tags > others*(mostTags-all.tags):
		return fmt.Errorf("%w: %d of %d tags in it are of namespace %s", errCrowded, own.tags, all.tags, q.job.Namespace)
	case own.bytes > min(namespaceBytes, others*(mostBytes-all.bytes)):
		return fmt.Errorf("%w: namespace %s has %d of %d bytes in it, mostly in the sandboxConfig of jobs", errCrowded, q.job.Namespace,
			own.bytes, all.bytes)
	}
	return nil
}

// usage returns what the jobs of the namespace have in a NodeImage, and what it holds in all. What several namespaces use counts for
// each of them. But a sandboxConfig counts only for the namespace that wrote it, and a reference only for that of its Secret. Otherwise
// a namespace could use up the part of another one.
func (q *request) usage(image *v1beta1.NodeImage) (own, all usage) {
	for name, entry := range image.Spec.Images {
		all.images, all.tags, all.bytes = all.images+1, all.tags+len(entry.Tags), all.bytes+len(name)+entry.Size()
		before := own.tags
		for i := range entry.Tags {
			if q.ofNamespace(&entry.Tags[i]) {
				own.tags++
				own.bytes += entry.Tags[i].Size()
			}
		}
		if own.tags > before {
			own.images++
			own.bytes += len(name)
		}
		if entry.SandboxConfig != nil && q.isLast(&entry) {
			own.bytes += entry.SandboxConfig.Size()
		}
		for i := range entry.PullSecrets {
			if q.copies.sourceNamespace(&entry.PullSecrets[i]) == q.job.Namespace {
				own.bytes += entry.PullSecrets[i].Size()
			}
		}
	}
	return own, all
}

// ofNamespace reports whether a job of the namespace asked for the tag.
func (q *request) ofNamespace(tag *v1beta1.ImageTagSpec) bool {
	for i := range tag.OwnerReferences {
		if imagetag.IsJob(&tag.OwnerReferences[i]) && tag.OwnerReferences[i].Namespace == q.job.Namespace {
			return true
		}
	}
	return false
}

// isLast reports whether the last job that was added to an entry is of the namespace. That job wrote the settings of the entry.
func (q *request) isLast(entry *v1beta1.ImageSpec) bool {
	var last *v1beta1.ImageTagSpec
	for i := range entry.Tags {
		if tag := &entry.Tags[i]; len(tag.OwnerReferences) > 0 && (last == nil || last.CreatedAt.Before(tag.CreatedAt)) {
			last = tag
		}
	}
	return last != nil && last.OwnerReferences[len(last.OwnerReferences)-1].Namespace == q.job.Namespace
}
