package daemonset

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/reconcile"
)

// pass runs one pass over a DaemonSet. The caches already show all writes of the last pass. All parts after the execution run even if
// one fails, and their errors are joined.
func (r *Reconciler) pass(ctx context.Context, set *v1beta1.DaemonSet) (reconcile.Result, error) {
	selector, ok := r.selectorOf(ctx, set)
	if !ok {
		return reconcile.Result{}, nil
	}
	// The next steps read only. The first write is in Execute.
	target, err := r.target(set, selector)
	if err != nil {
		return reconcile.Result{}, err
	}
	view, err := r.engine.Observe(target)
	if err != nil {
		return reconcile.Result{}, err
	}
	planner, err := r.newPlanner(view, set)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := planner.plan()
	// The delay is recorded first. If the deletion fails, the retry waits, too.
	r.failures.opened(set, planner.opened)
	outcome := r.engine.Execute(ctx, view, plan)
	status := planner.status(&outcome)
	recheck, reported := r.statuses.Report(ctx, set, &status, planner.desired, urgent(&set.Status, &status))
	r.statuses.Pace.Passed(set.UID, planner.desired)
	// Time passes without events, so the pass repeats at the earliest of these times.
	for _, due := range []time.Duration{outcome.Recheck, planner.recheck, view.AvailableIn()} {
		recheck = delay.Sooner(recheck, due)
	}
	recheck = delay.Sooner(recheck, r.downloads.Sync(ctx, set, planner.download(outcome.Revision, &status)))
	return reconcile.Result{RequeueAfter: recheck}, errors.Join(
		outcome.Scale, outcome.Update, reported,
		r.engine.DropRevisions(ctx, view, planner.unusedCopies()),
		r.engine.Trim(ctx, view),
	)
}

// selectorOf returns the selector of the DaemonSet, and whether it can be used. No retry can cure a selector, so there is no error. A
// change of the DaemonSet causes the next pass.
func (r *Reconciler) selectorOf(ctx context.Context, set *v1beta1.DaemonSet) (labels.Selector, bool) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	switch {
	case err != nil:
		klog.FromContext(ctx).V(2).Info("Selector is invalid, nothing to do", "err", err)
		return nil, false
	case selector.Empty():
		r.engine.Recorder.Event(set, corev1.EventTypeWarning, "SelectingAll",
			"This daemon set is selecting all pods. A non-empty selector is required.")
		return nil, false
	}
	return selector, true
}
