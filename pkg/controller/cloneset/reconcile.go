package cloneset

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/engine"
)

// staleRecheck is how soon a stale cache is looked at again, should the event that refreshes it concern no Pod of the set.
const staleRecheck = 5 * time.Second

// Reconcile brings the CloneSet one step on. Each pass settles Pods, scales or else updates, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	set, err := r.sets.CloneSets(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("get CloneSet: %w", err)
	}
	if wait, stale := r.stale(ctx, set); stale {
		return controller.Result{RequeueAfter: wait}, nil
	}
	if wait := r.passIn(set); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	return r.pass(ctx, set)
}

// pass is one pass over a CloneSet whose Pods the caches show as the last pass left them.
func (r *Reconciler) pass(ctx context.Context, set *v1beta1.CloneSet) (controller.Result, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		klog.FromContext(ctx).V(2).Info("Selector is invalid, nothing to do", "err", err)
		return controller.Result{}, nil
	}
	target, err := r.settings.target(set, selector)
	if err != nil {
		return controller.Result{}, err
	}
	view, err := r.engine.Observe(target)
	if err != nil {
		return controller.Result{}, err
	}
	planner := newPlanner(view, set, r.settings, r.nodeLabels)
	if set.DeletionTimestamp != nil {
		// The garbage collector deletes what is left. The status only counts it.
		return controller.Result{}, r.report.write(ctx, set, planner.status(&engine.Outcome{CollisionCount: set.Status.CollisionCount}))
	}
	outcome := r.engine.Execute(ctx, view, planner.plan())
	status := planner.status(&outcome)
	recheck, reported := r.reportStatus(ctx, set, &status)
	r.pace.Passed(set.UID, int(set.Status.Replicas))
	for _, due := range []time.Duration{outcome.Recheck, view.AvailableIn(), planner.deadlineIn(&status)} {
		recheck = engine.Sooner(recheck, due)
	}
	return controller.Result{RequeueAfter: recheck}, errors.Join(
		outcome.Scale, outcome.Update, reported,
		r.downloads.sync(ctx, planner, outcome.Revision, status.UpdatedReadyReplicas),
		r.report.clearPodsToDelete(ctx, set, view.Pods),
		r.engine.Trim(ctx, view),
	)
}

// passIn returns how long the next pass has to wait. What the user changed never waits.
func (r *Reconciler) passIn(set *v1beta1.CloneSet) time.Duration {
	if set.Generation != set.Status.ObservedGeneration || set.DeletionTimestamp != nil {
		return 0
	}
	return r.pace.PassIn(set.UID, int(set.Status.Replicas))
}

// reportStatus writes the status, or returns when it is due.
func (r *Reconciler) reportStatus(ctx context.Context, set *v1beta1.CloneSet, status *v1beta1.CloneSetStatus) (wait time.Duration, err error) {
	if sameStatus(&set.Status, status) {
		return 0, nil
	}
	pods := int(status.Replicas)
	urgent := !onlyCountsDiffer(&set.Status, status) || settledCounts(set, status)
	if wait := r.pace.ReportIn(set.UID, pods, urgent); wait > 0 {
		return wait, nil
	}
	r.pace.Reported(set.UID, pods)
	return 0, r.report.write(ctx, set, *status)
}

// stale tells whether a cache has not seen what an earlier pass wrote for this CloneSet.
func (r *Reconciler) stale(ctx context.Context, set *v1beta1.CloneSet) (time.Duration, bool) {
	pending := r.guard.Ready(set.UID)
	if pending == nil {
		return 0, false
	}
	logger := klog.FromContext(ctx)
	if pending.Remaining <= 0 {
		logger.Error(nil, "Cache did not show a write in time", "resource", pending.Resource,
			"wrote", pending.Wrote, "reached", pending.Reached, "continues", r.settings.giveUpWaiting)
		r.metrics.Leaked(set.Namespace, set.Name)
		return staleRecheck, !r.settings.giveUpWaiting
	}
	logger.V(4).Info("Cache has not seen an earlier write", "resource", pending.Resource, "wrote", pending.Wrote, "reached", pending.Reached)
	r.metrics.Stale(Name)
	return min(pending.Remaining, staleRecheck), true
}

func (r *Reconciler) nodeLabels(name string) map[string]string {
	node, err := r.nodes.Get(name)
	if err != nil {
		return nil
	}
	return node.Labels
}
