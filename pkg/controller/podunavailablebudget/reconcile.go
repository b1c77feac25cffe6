package podunavailablebudget

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/disruption"
)

// pace is the minimum time between two counts of a budget. If many Pods change, one count covers all changes since the last
// count. docs/architecture/budgets.md promises this limit.
const pace = 100 * time.Millisecond

// unreadEffect is what a user sees of a workload that the controllers may not read.
const unreadEffect = "only its existing Pods are counted, and not its replicas"

// absent handles keys without a budget. A key without a name stands for a namespace to label. Any other key is a deleted budget
// to clean up after: its Pods get the name of the budget that governs them now, or lose the annotation.
func (r *Reconciler) absent(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	if key.Name == "" {
		return reconcile.Result{}, r.labelNamespace(ctx, key.Namespace)
	}
	r.pacer.Forget(key)
	r.unreadable.Forget(key)
	return reconcile.Result{}, r.annotate(ctx, key, nil)
}

// Reconcile counts one budget and then annotates its Pods. For a generation that was not counted yet, it annotates the Pods first: a user
// who sees its count relies on it, and kube-apiserver asks only about annotated Pods. Admission refuses until the count is there. Without
// an event, the next count is due when a grant expires, or after controller.UnwatchedPeriod.
func (r *Reconciler) Reconcile(ctx context.Context, budget *v1beta1.PodUnavailableBudget) (reconcile.Result, error) {
	key := types.NamespacedName{Namespace: budget.Namespace, Name: budget.Name}
	// The changes until then are part of the next count, so nothing is lost.
	if early := r.pacer.Wait(key, r.clock.Now()); early > 0 {
		return reconcile.Result{RequeueAfter: early, KeepFailures: true}, nil
	}
	first := budget.Status.ObservedGeneration != budget.Generation
	var protected error
	if first {
		protected = r.protect(ctx, budget)
	}
	seen, recheck, err := r.count(ctx, budget)
	if err != nil {
		return r.notCounted(budget, err)
	}
	// The budget was deleted. absent cleans up after it.
	if seen == nil {
		return reconcile.Result{}, nil
	}
	// A standing grant may ask for an earlier count.
	if seen.unseen && (recheck == 0 || recheck > controller.UnwatchedPeriod) {
		recheck = controller.UnwatchedPeriod
	}
	if !first {
		protected = r.annotate(ctx, key, seen.Pods)
	}
	return reconcile.Result{RequeueAfter: recheck}, protected
}

// protect makes kube-apiserver ask about the disruptions of the Pods that a budget governs. A Pod that cannot be annotated does not keep
// the budget from being counted.
func (r *Reconciler) protect(ctx context.Context, budget *v1beta1.PodUnavailableBudget) error {
	seen, err := r.observe(ctx, budget, disruption.NewServer(r.livePod(ctx, budget.Namespace)))
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: budget.Namespace, Name: budget.Name}
	return errors.Join(r.labelNamespace(ctx, budget.Namespace), r.annotate(ctx, key, seen.Pods))
}

// count computes the budget's status and writes it if the budget is unchanged since it was read. After a conflict, UpdateStatus
// calls the function again with the stored budget, and everything is observed again. count returns nil for a deleted budget,
// and the delay until the next count is due without an event.
func (r *Reconciler) count(ctx context.Context, budget *v1beta1.PodUnavailableBudget) (*observation, time.Duration, error) {
	// It keeps what was read from the API server for all attempts of this count.
	server := disruption.NewServer(r.livePod(ctx, budget.Namespace))
	var seen *observation
	var count *disruption.Count
	changed := false
	stored, err := controller.UpdateStatus(ctx, r.kruise.PolicyV1beta1().PodUnavailableBudgets(budget.Namespace), budget,
		func(fresh *v1beta1.PodUnavailableBudget) (err error) {
			// The reads of missing Pods can take long, and admission relies on the result. Then the Pods are observed once more, which
			// is fast, since server has all answers.
			for attempt, slow := 0, true; slow && attempt < 2; attempt++ {
				if seen, err = r.observe(ctx, fresh, server); err != nil {
					return err
				}
				if count, err = disruption.Recount(r.carryOver(fresh, seen.Pods), &seen.Observation); err != nil {
					return err
				}
				slow = r.clock.Since(seen.Now) > time.Second
			}
			// carryOver may have returned a copy, so the result is compared with fresh.
			changed = !apiequality.Semantic.DeepEqual(fresh.Status, count.Status)
			fresh.Status = count.Status
			return nil
		})
	if err != nil || stored == nil {
		return nil, 0, err
	}
	if changed {
		r.tell(ctx, stored, seen, count)
	}
	r.unreadable.Tell(types.NamespacedName{Namespace: stored.Namespace, Name: stored.Name}, stored, seen.unreadable, unreadEffect)
	for workload, err := range seen.failed {
		// A kind that is not served may be uninstalled, and its Pods may stay for long.
		if stored.Spec.TargetRef != nil || !meta.IsNoMatchError(err) {
			r.recorder.Eventf(stored, corev1.EventTypeWarning, controller.ReasonUnreadable, "%s %s cannot be read, so %s: %v",
				workload.GroupKind, workload.Name, unreadEffect, err)
		}
	}
	return seen, count.Recheck, nil
}

// tell logs a new count and sends its events. It is called only after the write, so the events are not repeated for each
// attempt.
func (r *Reconciler) tell(ctx context.Context, budget *v1beta1.PodUnavailableBudget, seen *observation, count *disruption.Count) {
	klog.FromContext(ctx).V(2).Info("Counted", "total", count.Status.TotalReplicas, "desired", count.Status.DesiredAvailable,
		"current", count.Status.CurrentAvailable, "allowed", count.Status.UnavailableAllowed)
	if len(seen.Pods) == 0 {
		r.recorder.Event(budget, corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}
	for _, pod := range count.NotDeleted {
		r.recorder.Eventf(pod, corev1.EventTypeWarning, "NotDeleted", "Pod was expected by PUB %s/%s to be deleted but it wasn't",
			budget.Namespace, budget.Name)
	}
}

// notCounted reports why a budget cannot be counted. The last count stays, so admission continues with it. A failure that needs
// a user's action is retried every controller.UnwatchedPeriod: the missing kind may be installed. Failures that pass by themselves are
// retried soon, without an event.
func (r *Reconciler) notCounted(budget *v1beta1.PodUnavailableBudget, err error) (reconcile.Result, error) {
	var remedy string
	switch {
	case meta.IsNoMatchError(err):
		remedy = "; correct spec.targetRef, or install the kind"
	case apierrors.IsConflict(err), apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err), errors.Is(err, context.Canceled):
		return reconcile.Result{}, err
	}
	r.recorder.Eventf(budget, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed",
		"Failed to calculate the number of expected pods: %v%s", err, remedy)
	if remedy == "" {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: controller.UnwatchedPeriod}, nil
}
