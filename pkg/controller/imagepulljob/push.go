package imagepulljob

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
	"kruise.io/kruise/pkg/workload/passes"
)

const (
	// rememberedVersions is the maximum number of removed tags whose versions are kept. Beyond that, the least recently used one is
	// dropped, and the report of the node is the only record.
	rememberedVersions = 100000
	// refusedAtOnce is the maximum number of nodes that may refuse, or not be written, in one pass. The next pass continues with the
	// other nodes. Each refusal is an event, and a pass must not take too long.
	refusedAtOnce = 100
	// refusalPatience is how long each write to a NodeImage must be rejected with 400 or 403 until the node counts as refusing.
	refusalPatience = time.Minute
)

// push asks as many more nodes as the job allows, and adds missing Secrets to nodes that were asked before. A node that refuses is
// replaced by the next one. It returns how many nodes it asked, and the names of those that refused. The first step is the Secrets,
// because nodes that already pull may fail without them. Once the time of the pass is over, it asks no more nodes.
func (r *Reconciler) push(ctx context.Context, q *request, c *census) (asked int32, refused []string, err error) {
	var failures []error
	_, _, err = r.ask(ctx, q, c.outdated)
	failures = append(failures, err)
	// Each pass asks at least one batch. The changed status is then the event that goes on with the others.
	p := passes.Begin(r.clock, passes.Width)
	// A silent node pulls nothing, so it does not take a place of the parallelism.
	free, rest := max(parallelism(q.job.Spec.Parallelism)-(len(c.pulling)-c.silent), 0), c.unasked
	// The sort reads the agents of the cluster, so it is left out if no node can be asked.
	if free > 0 {
		r.failing.keep(q.job.UID, rest, c.outdated)
		rest = r.failingLast(q.job, r.agentsFirst(rest))
	}
	for failed := 0; free > 0 && len(rest) > 0 && failed < refusedAtOnce && (asked == 0 || !p.Over()); {
		// The batch is limited, so that a full cluster of refusing nodes is not asked all at once.
		batch := rest[:min(free, len(rest), refusedAtOnce+passes.Width)]
		rest = rest[len(batch):]
		count, names, err := r.ask(ctx, q, batch)
		failures = append(failures, err)
		// Nodes that were not written do not take a place, so the loop goes on with the next nodes. The queue tries those that did not
		// refuse for good again, with a growing delay: they must not delay the others.
		asked, refused, free = asked+count, append(refused, names...), free-int(count)
		failed += len(batch) - int(count)
	}
	return asked, refused, errors.Join(append(failures, r.releaseOthers(ctx, q))...)
}

// agentsFirst returns the nodes in their order, but nodes without a working agent last. They would take up places for nothing.
func (r *Reconciler) agentsFirst(nodes []*v1beta1.NodeImage) []*v1beta1.NodeImage {
	var first, last []*v1beta1.NodeImage
	absentOn := r.agents.InOnePass()
	for _, image := range nodes {
		if absent, err := absentOn(image.Name); absent && err == nil {
			last = append(last, image)
		} else {
			first = append(first, image)
		}
	}
	return append(first, last...)
}

// failingLast sorts the given nodes: those whose last write failed come last, the one that failed first before the others. Otherwise,
// one NodeImage that cannot be written would take the place of all nodes after it.
func (r *Reconciler) failingLast(job *v1beta1.ImagePullJob, nodes []*v1beta1.NodeImage) []*v1beta1.NodeImage {
	// A node that is not failing has the zero time.
	if last := r.failing.last(job.UID); len(last) > 0 {
		slices.SortStableFunc(nodes, func(a, b *v1beta1.NodeImage) int { return last[a.Name].Compare(last[b.Name]) })
	}
	return nodes
}

// ask writes what the job asks for to some NodeImages, and returns how many it wrote. It records those that refuse for good. The
// caller gets one joined error for all writes that failed otherwise.
func (r *Reconciler) ask(ctx context.Context, q *request, targets []*v1beta1.NodeImage) (asked int32, refused []string, err error) {
	var count atomic.Int32
	// Each goroutine writes only its own element, so no lock is needed.
	refusals := make([]bool, len(targets))
	err = passes.Parallel(len(targets), passes.Width, func(i int) error {
		done, err := r.write(ctx, q.job, targets[i], q.assignShare)
		if err != nil {
			done, refusals[i], err = r.failed(ctx, q, targets[i].Name, err)
		}
		if err == nil {
			r.failing.remove(q.job.UID, targets[i].Name)
		}
		if done {
			count.Add(1)
		}
		return err
	})
	for i, is := range refusals {
		if is {
			refused = append(refused, targets[i].Name)
		}
	}
	return count.Load(), refused, err
}

// failed decides what a failed write to a NodeImage means. If it may have taken place, the node counts as asked until the cache shows
// otherwise. A node that refuses is never asked. Any other error is returned. Such a node takes a place in this pass, unless the write
// certainly did not take place.
func (r *Reconciler) failed(ctx context.Context, q *request, node string, err error) (asked, refused bool, _ error) {
	final := apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) || errors.Is(err, errCrowded)
	if !final {
		taken, readErr := r.tookPlace(ctx, q, node)
		if taken {
			return true, false, nil
		}
		// The node keeps its turn: to ask another one could be one too many.
		if readErr != nil || !answered(err) {
			return true, false, err
		}
		// Admission plugins and webhooks refuse so. But a server that has just started may forbid what it allows a moment later.
		final = r.failing.add(q.job.UID, node, rejected(err)) >= refusalPatience
	}
	if !final {
		return false, false, err
	}
	r.refusals.add(q.job.UID, node, q.ref)
	remedy := "remove images that are not needed from it"
	switch {
	case rejected(err):
		remedy = "allow the change, or leave the node out of the job"
	case errors.Is(err, errCrowded):
		remedy = "delete jobs that are not needed, or make them smaller, and create the job again"
	}
	r.recorder.Eventf(q.job, corev1.EventTypeWarning, "FailedPullImage", "NodeImage %s was rejected: %v; %s", node, err, remedy)
	return false, true, nil
}

// rejected reports whether admission has rejected a write.
func rejected(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) }

// tookPlace asks the server whether a NodeImage has what a write failed to add. The answer to the write can be lost. The next pass then
// waits until the cache shows what was read here.
func (r *Reconciler) tookPlace(ctx context.Context, q *request, node string) (bool, error) {
	fresh, err := r.kruise.AppsV1beta1().NodeImages().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	r.guard.Wrote(q.job.UID, images, fresh.ResourceVersion)
	return !q.assign(fresh), nil
}

// answered reports whether a write that failed is over. Without a final answer of the server, it may still take place.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsServiceUnavailable(err)
}

// releaseOthers removes the job from tags that it asked for before its image changed. A job of the first generation never had another
// image.
func (r *Reconciler) releaseOthers(ctx context.Context, q *request) error {
	if q.job.Generation <= 1 {
		return nil
	}
	// The index holds all NodeImages that name the job, also those of nodes that it no longer selects.
	items, err := r.byOwner.ByIndex(imagetag.OwnersIndex, string(q.job.UID))
	if err != nil {
		return fmt.Errorf("list NodeImages by owner: %w", err)
	}
	// The change is computed again for each version of the NodeImage, see write.
	release := func(image *v1beta1.NodeImage) (bool, error) { //nolint:unparam // Other changes of a NodeImage can fail.
		return disown(image, q.job.UID, q.ref), nil
	}
	var targets []*v1beta1.NodeImage
	for _, item := range items {
		if image, ok := item.(*v1beta1.NodeImage); ok && ownsOther(image, q.job.UID, q.ref) {
			targets = append(targets, image)
		}
	}
	return passes.Parallel(len(targets), passes.Width, func(i int) error {
		_, err := r.write(ctx, q.job, targets[i], release)
		return err
	})
}

// write applies a change to a NodeImage and returns whether the NodeImage has it. A deleted NodeImage does not. After a conflict it
// applies the change to the newest version, so concurrent jobs do not overwrite each other.
func (r *Reconciler) write(ctx context.Context, job *v1beta1.ImagePullJob, image *v1beta1.NodeImage,
	change func(*v1beta1.NodeImage) (bool, error)) (done bool, err error) {
	client := r.kruise.AppsV1beta1().NodeImages()
	// The first attempt uses the cached object, so it needs no read.
	base := image
	// After a few conflicts in a row, the error is returned and the queue retries.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		after := base.DeepCopy()
		changed, err := change(after)
		if err != nil {
			return err
		}
		// Another write has already done what this one is for, such as one whose answer was lost. The next pass waits until the cache
		// shows it.
		if !changed {
			done = true
			r.guard.Wrote(job.UID, images, base.ResourceVersion)
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
		// A conflict wrote nothing, so the guard has nothing to wait for.
		if err == nil {
			done = true
			r.guard.Wrote(job.UID, images, stored.ResourceVersion)
		}
		return err
	})
	// A NodeImage that was deleted with its node needs nothing.
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("update NodeImage %s: %w", image.Name, err)
	}
	return done, nil
}

// remember stores the last version of a tag that was removed from a NodeImage.
func (r *Reconciler) remember(node string, ref imagetag.Reference, version int64) {
	r.versions.Add(versionKey{node, ref}, version)
}

// lastVersion returns a function that reads the stored version of a removed tag on a node, or -1.
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

// random returns a number in [0, n). Tests replace it.
func random(n int32) int32 {
	return rand.Int32N(n) //nolint:gosec // no secret is made of it
}
