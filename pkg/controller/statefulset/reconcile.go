package statefulset

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
)

// pass runs one pass over a StatefulSet. The caches already show all writes of the last pass. It settles Pods, scales or updates
// them, and reports the status. All parts run even if one fails, and their errors are joined.
func (r *Reconciler) pass(ctx context.Context, set *v1beta1.StatefulSet) (reconcile.Result, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		// Validation refuses such selectors, and no retry can cure one.
		klog.FromContext(ctx).V(2).Info("Selector is invalid, nothing to do", "err", err)
		return reconcile.Result{}, nil
	}
	// An invalid reservation stops scaling and updates, not the pass: settling still returns finished Pods to service, and the status
	// reports the reservation.
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
	reword := func(since time.Time) bool { return r.statuses.Rewordings.Due(set.UID, since, view.Now) }
	if set.DeletionTimestamp != nil {
		// The garbage collector deletes the Pods. Only the status is updated.
		status := p.status(&engine.Outcome{CollisionCount: set.Status.CollisionCount}, reword)
		return reconcile.Result{}, r.statuses.Write(ctx, set, &status)
	}
	plan := &engine.Plan{Awaited: p.preparingUpdate(), Err: engine.Failures{Scale: invalid}}
	if invalid == nil {
		plan = p.plan()
	}
	outcome := r.engine.Execute(ctx, view, plan)
	// A deletion that was refused, or whose stage did not run, counts too. The next attempt then only waits longer.
	r.failures.deleted(set.UID, p.failed)
	status := p.status(&outcome, reword)
	recheck, reported := r.statuses.Report(ctx, set, &status, int(status.Replicas), urgent(set, &status))
	// The pause until the next pass begins after the writes of this one.
	r.statuses.Pace.Passed(set.UID, int(set.Status.Replicas))
	// Time passes without events, so the pass repeats at the earliest of these times.
	for _, due := range []time.Duration{outcome.Recheck, view.AvailableIn(), p.recheck} {
		recheck = delay.Sooner(recheck, due)
	}
	recheck = delay.Sooner(recheck, r.downloads.Sync(ctx, set, p.download(outcome.Revision, &status)))
	return reconcile.Result{RequeueAfter: recheck}, errors.Join(
		outcome.Scale, outcome.Update, reported,
		r.engine.Trim(ctx, view),
	)
}
