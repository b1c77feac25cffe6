package cloneset

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

// pass runs one pass over a CloneSet. The caches already show all writes of the last pass. It settles Pods, scales or updates them,
// and reports the status. All parts run even if one fails, and their errors are joined, so a quota that refuses Pods does not stop
// the status.
func (r *Reconciler) pass(ctx context.Context, set *v1beta1.CloneSet) (reconcile.Result, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		// Validation refuses such selectors, and no retry can cure one. An empty selector would select every Pod of the namespace.
		klog.FromContext(ctx).V(2).Info("Selector is invalid, nothing to do", "err", err)
		return reconcile.Result{}, nil
	}
	// The next steps read only.
	target, err := r.settings.target(set, selector)
	if err != nil {
		return reconcile.Result{}, err
	}
	target.Fresh = func(ctx context.Context) (metav1.Object, error) {
		return r.sets.CloneSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
	}
	view, err := r.engine.Observe(target)
	if err != nil {
		return reconcile.Result{}, err
	}
	if set.DeletionTimestamp != nil {
		planner := newPlanner(view, set, r.settings, r.nodeLabels)
		// The garbage collector deletes the Pods. Only the status is updated.
		status := planner.status(&engine.Outcome{CollisionCount: set.Status.CollisionCount, Complete: true})
		return reconcile.Result{}, r.statuses.Write(ctx, set, &status)
	}
	set, cleared := r.lists.clear(ctx, set, view.Pods)
	planner := newPlanner(view, set, r.settings, r.nodeLabels)
	// The status is computed from what the pass observed, not from what it wrote. The writes cause events, and the next pass counts
	// them.
	outcome := r.engine.Execute(ctx, view, planner.plan())
	status := planner.status(&outcome)
	recheck, reported := r.statuses.Report(ctx, set, &status, int(status.Replicas), urgent(set, &status))
	// The time is recorded after all writes of Pods, so the pause between passes does not include the pass.
	r.statuses.Pace.Passed(set.UID, int(set.Status.Replicas))
	// The pass repeats at the earliest of these times. Nothing else would start it: time passes without events.
	for _, due := range []time.Duration{outcome.Recheck, view.AvailableIn(), planner.deadlineIn(&status)} {
		recheck = delay.Sooner(recheck, due)
	}
	recheck = delay.Sooner(recheck, r.downloads.Sync(ctx, set, planner.download(outcome.Revision, status.UpdatedReadyReplicas)))
	return reconcile.Result{RequeueAfter: recheck}, errors.Join(
		cleared, outcome.Scale, outcome.Update, reported,
		r.engine.Trim(ctx, view),
	)
}
