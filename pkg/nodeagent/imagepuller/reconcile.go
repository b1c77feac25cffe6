package imagepuller

import (
	"context"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/reconcile"
)

// settle delays the first status write. In this time, new pulls find out whether their image is already present.
const settle = 100 * time.Millisecond

// reconcile starts and stops pulls according to the NodeImage, and writes the status. It never waits for a pull.
func (c *Controller) reconcile(ctx context.Context, _ types.NamespacedName) (reconcile.Result, error) {
	node, unseen, err := c.nodeImage()
	if err != nil {
		return reconcile.Result{}, err
	}
	// Another NodeImage with the same name has its own versions, so the pulls of the old one do not count.
	if node == nil || node.UID != c.uid {
		c.keepOnly(nil)
		c.uid, c.wrote = "", cluster.Written[*v1beta1.NodeImage]{}
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
	result, err := c.report(ctx, node, c.statusOf(node))
	// The next pass reads the cache again, even if no event comes.
	if result.RequeueAfter == 0 {
		result.RequeueAfter = unseen
	}
	return result, err
}

// nodeImage returns the newest known NodeImage, or nil if it does not exist. That is our last write until the cache shows it. With the
// older cache, a pass would start a finished pull again. unseen is how long the write is believed, or zero.
func (c *Controller) nodeImage() (node *v1beta1.NodeImage, unseen time.Duration, err error) {
	item, exists, err := c.informer.GetIndexer().GetByKey(c.config.Node)
	if err != nil {
		return nil, 0, fmt.Errorf("look up the NodeImage: %w", err)
	}
	cached, ok := item.(*v1beta1.NodeImage)
	if !exists || !ok || cached.DeletionTimestamp != nil {
		return nil, 0, nil
	}
	node, unseen = c.wrote.Newer(cached, c.config.Clock.Now())
	return node, unseen, nil
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
	// A write that conflicts writes nothing, so it uses up none of the limit. Other tenants change the NodeImage all the time.
	if apierrors.IsConflict(err) {
		slot.CancelAt(now)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("write the status: %w", err)
	}
	klog.FromContext(ctx).V(4).Info("Reported", "pulling", status.Pulling, "waiting", status.Waiting,
		"succeeded", status.Succeeded, "failed", status.Failed)
	// The cache has no managed fields either, so the two compare equal.
	updated.ManagedFields = nil
	c.wrote = cluster.Wrote(updated, c.config.Clock.Now())
	return reconcile.Result{}, nil
}
