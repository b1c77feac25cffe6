package imagepuller

import (
	"context"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
)

// settle delays the first status write. In this time, new pulls find out whether their image is already present.
const settle = 100 * time.Millisecond

// written is the NodeImage as our last write returned it.
type written struct{ node *v1beta1.NodeImage }

// newer returns the written NodeImage until the cache shows the write. Without it, a pass on the older cache would
// start a finished pull again.
func (w written) newer(cached *v1beta1.NodeImage) *v1beta1.NodeImage {
	if w.node == nil || w.node.UID != cached.UID {
		return cached
	}
	if later, err := resourceversion.CompareResourceVersion(w.node.ResourceVersion, cached.ResourceVersion); err == nil && later > 0 {
		return w.node
	}
	return cached
}

// reconcile starts and stops pulls according to the NodeImage, and writes the status. It never waits for a pull.
func (c *Controller) reconcile(ctx context.Context, _ types.NamespacedName) (reconcile.Result, error) {
	node, err := c.nodeImage()
	if err != nil {
		return reconcile.Result{}, err
	}
	// Another NodeImage with the same name has its own versions, so the pulls of the old one do not count.
	if node == nil || node.UID != c.uid {
		c.keepOnly(nil)
		c.uid, c.wrote = "", written{}
	}
	if node == nil {
		return reconcile.Result{}, nil
	}
	c.uid = node.UID
	tasks := unfinished(node)
	// Pulls that are no longer wanted end before new ones begin, so they free their slots.
	c.keepOnly(tasks)
	for tag, t := range tasks {
		// The pull goes on with the new limits and Secrets from its next attempt on.
		if p := c.pulls[tag]; p != nil {
			p.task.Store(t)
			continue
		}
		c.pulls[tag], c.began = c.begin(ctx, node, t), c.config.Clock.Now()
	}
	// A present image is then reported by one write instead of two.
	if wait := settle - c.config.Clock.Since(c.began); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return c.report(ctx, node, c.statusOf(node))
}

// nodeImage returns the newest known NodeImage, or nil if it does not exist.
func (c *Controller) nodeImage() (*v1beta1.NodeImage, error) {
	item, exists, err := c.informer.GetIndexer().GetByKey(c.config.Node)
	if err != nil {
		return nil, fmt.Errorf("look up the NodeImage: %w", err)
	}
	cached, ok := item.(*v1beta1.NodeImage)
	if !exists || !ok || cached.DeletionTimestamp != nil {
		return nil, nil //nolint:nilnil // There is none.
	}
	return c.wrote.newer(cached), nil
}

// keepOnly cancels the pulls that have no task, or a task with another version. Their results are dropped.
func (c *Controller) keepOnly(tasks map[imageTag]*task) {
	for tag, p := range c.pulls {
		if t := tasks[tag]; t == nil || t.version != p.version {
			p.end()
			delete(c.pulls, tag)
		}
	}
	if len(tasks) == 0 {
		c.secrets.forget()
	}
}

// report writes the status if it differs and the rate limit allows a write. A conflict is an error, and the retry
// uses the newer NodeImage. A NodeImage that is gone needs no report.
func (c *Controller) report(ctx context.Context, node *v1beta1.NodeImage, status v1beta1.NodeImageStatus) (reconcile.Result, error) {
	if apiequality.Semantic.DeepEqual(node.Status, status) {
		return reconcile.Result{}, nil
	}
	now := c.config.Clock.Now()
	// A write that has to wait gives its reservation back, because the pass after the wait makes a new one.
	slot := c.writes.ReserveN(now, 1)
	if wait := slot.DelayFrom(now); wait > 0 {
		slot.CancelAt(now)
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	update := node.DeepCopy()
	update.Status = status
	updated, err := c.config.Client.NodeImages().UpdateStatus(ctx, update, metav1.UpdateOptions{})
	// The event of the deletion starts the next pass, which ends the pulls.
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("write the status: %w", err)
	}
	klog.FromContext(ctx).V(4).Info("Reported", "pulling", status.Pulling, "waiting", status.Waiting,
		"succeeded", status.Succeeded, "failed", status.Failed)
	// The cache has no managed fields either, so the two compare equal.
	updated.ManagedFields = nil
	c.wrote = written{updated}
	return reconcile.Result{}, nil
}
