package imagepulljob

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

const (
	// width is the maximum number of concurrent writes to NodeImages.
	width = 16
	// rememberedVersions is the maximum number of removed tags whose versions are kept.
	rememberedVersions = 100000
)

// push asks as many more nodes as the job allows, and adds missing Secrets to nodes that were asked before. It returns how many
// nodes it asked.
func (r *Reconciler) push(ctx context.Context, q *request, c *census) (asked int32, err error) {
	budget := min(max(parallelism(q.job.Spec.Parallelism)-len(c.pulling), 0), len(c.unasked))
	targets := slices.Concat(c.unasked[:budget], c.lacking)
	var count atomic.Int32
	err = podcontrol.Parallel(len(targets), width, func(i int) error {
		written, err := r.write(ctx, q.job, targets[i], q.assign)
		// If the answer to the write was lost, the node may have been asked. It counts as asked until the cache shows otherwise.
		if i < budget && (written || err != nil) {
			count.Add(1)
		}
		if apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) {
			r.recorder.Eventf(q.job, corev1.EventTypeWarning, "FailedPullImage",
				"NodeImage %s was rejected: %v; remove images that are not needed from it", targets[i].Name, err)
		}
		return err
	})
	return count.Load(), errors.Join(err, r.releaseOthers(ctx, q))
}

// releaseOthers removes the job from tags that it asked for before its image changed.
func (r *Reconciler) releaseOthers(ctx context.Context, q *request) error {
	if q.job.Generation <= 1 {
		return nil
	}
	items, err := r.byOwner.ByIndex(imagetag.OwnersIndex, string(q.job.UID))
	if err != nil {
		return fmt.Errorf("list NodeImages by owner: %w", err)
	}
	release := func(image *v1beta1.NodeImage) bool { return disown(image, q.job.UID, q.ref) }
	var targets []*v1beta1.NodeImage
	for _, item := range items {
		if image, ok := item.(*v1beta1.NodeImage); ok && release(image.DeepCopy()) {
			targets = append(targets, image)
		}
	}
	return podcontrol.Parallel(len(targets), width, func(i int) error {
		_, err := r.write(ctx, q.job, targets[i], release)
		return err
	})
}

// write applies a change to a NodeImage and returns whether it wrote anything. After a conflict it applies the change to the
// newest version, so concurrent jobs do not overwrite each other.
func (r *Reconciler) write(ctx context.Context, job *v1beta1.ImagePullJob, image *v1beta1.NodeImage,
	change func(*v1beta1.NodeImage) bool) (written bool, err error) {
	client := r.kruise.AppsV1beta1().NodeImages()
	base := image
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		after := base.DeepCopy()
		if !change(after) {
			return nil
		}
		stored, err := client.Update(ctx, after, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			fresh, getErr := client.Get(ctx, image.Name, metav1.GetOptions{})
			if getErr != nil {
				return getErr
			}
			base = fresh
		}
		if err == nil {
			written = true
			r.guard.Wrote(job.UID, images, stored.ResourceVersion)
		}
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return written, fmt.Errorf("update NodeImage %s: %w", image.Name, err)
	}
	return written, nil
}

// remember stores the last version of a tag that was removed from a NodeImage.
func (r *Reconciler) remember(node string, ref imagetag.Reference, version int64) {
	r.versions.Add(versionKey{node, ref}, version)
}

func (r *Reconciler) lastVersion(ref imagetag.Reference) func(node string) int64 {
	return func(node string) int64 {
		if version, found := r.versions.Get(versionKey{node, ref}); found {
			if number, ok := version.(int64); ok {
				return number
			}
		}
		return -1
	}
}

// versionKey identifies one tag on one node.
type versionKey struct {
	node string
	ref  imagetag.Reference
}

func random(n int32) int32 {
	return rand.Int32N(n) //nolint:gosec // no secret is made of it
}
