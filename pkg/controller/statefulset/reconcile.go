package statefulset

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
)

// pass runs one pass over a StatefulSet. The caches already show all writes of the last pass. It settles Pods, scales or updates
// them, and reports the status.
func (r *Reconciler) pass(ctx context.Context, set *v1beta1.StatefulSet) (reconcile.Result, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		klog.FromContext(ctx).V(2).Info("Selector is invalid, nothing to do", "err", err)
		return reconcile.Result{}, nil
	}
	ordinals, invalid := r.settings.ordinals(set)
	target, err := r.target(set, selector, ordinals)
	if err != nil {
		return reconcile.Result{}, err
	}
	view, err := r.engine.Observe(target)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := newPlanner(view, set, r.settings, ordinals, r.failures.waits(set.UID))
	if set.DeletionTimestamp != nil {
		// The garbage collector deletes the Pods. Only the status is updated.
		status := p.status(&engine.Outcome{CollisionCount: set.Status.CollisionCount})
		return reconcile.Result{}, r.statuses.Write(ctx, set, &status)
	}
	plan := &engine.Plan{Awaited: p.preparingUpdate(), Err: engine.Failures{Scale: invalid}}
	if invalid == nil {
		plan = p.plan()
	}
	outcome := r.engine.Execute(ctx, view, plan)
	r.failures.deleted(set.UID, p.failed)
	status := p.status(&outcome)
	recheck, reported := r.statuses.Report(ctx, set, &status, int(status.Replicas), urgent(set, &status))
	r.statuses.Pace.Passed(set.UID, int(set.Status.Replicas))
	for _, due := range []time.Duration{outcome.Recheck, view.AvailableIn(), p.recheck} {
		recheck = engine.Sooner(recheck, due)
	}
	return reconcile.Result{RequeueAfter: recheck}, errors.Join(
		outcome.Scale, outcome.Update, reported,
		r.downloads.Sync(ctx, set, p.download(outcome.Revision, &status)),
		r.engine.Trim(ctx, view),
	)
}
