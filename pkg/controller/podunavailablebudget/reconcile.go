package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/disruption"
)

const (
	// unseenPeriod is how often a workload of a kind without events is looked at.
	unseenPeriod = 15 * time.Second
	// attempts is how often a count that lost against a grant is made again at once.
	attempts = 10
)

// Reconcile counts one budget; or, for a key without a name, labels one namespace.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	if key.Name == "" {
		return controller.Result{}, r.labelNamespace(ctx, key.Namespace)
	}
	item, found, err := r.budgets.GetByKey(key.String())
	if err != nil {
		return controller.Result{}, fmt.Errorf("get PodUnavailableBudget: %w", err)
	}
	budget, ok := item.(*v1beta1.PodUnavailableBudget)
	if !found || !ok {
		r.pacer.forget(key)
		return controller.Result{}, r.annotate(ctx, key, nil)
	}
	if early := r.pacer.wait(key, r.clock.Now()); early > 0 {
		return controller.Result{RequeueAfter: early}, nil
	}
	seen, recheck, err := r.count(ctx, budget)
	if err != nil {
		return r.notCounted(budget, err)
	}
	if seen == nil {
		return controller.Result{}, nil
	}
	if seen.unseen && (recheck == 0 || recheck > unseenPeriod) {
		recheck = unseenPeriod
	}
	return controller.Result{RequeueAfter: recheck}, r.annotate(ctx, key, seen.Pods)
}

// count counts, and writes the count over the very budget that it was made for. It returns nothing for a budget that is gone.
func (r *Reconciler) count(ctx context.Context, budget *v1beta1.PodUnavailableBudget) (*observation, time.Duration, error) {
	client := r.kruise.PolicyV1beta1().PodUnavailableBudgets(budget.Namespace)
	server := disruption.NewServer(r.livePod(ctx, budget.Namespace))
	for attempt := 1; ; attempt++ {
		seen, err := r.observe(ctx, budget, server)
		if err != nil {
			return nil, 0, err
		}
		count, err := disruption.Recount(budget, &seen.Observation)
		if err != nil {
			return nil, 0, err
		}
		if apiequality.Semantic.DeepEqual(budget.Status, count.Status) {
			return seen, count.Recheck, nil
		}
		counted := budget.DeepCopy()
		counted.Status = count.Status
		_, err = client.UpdateStatus(ctx, counted, metav1.UpdateOptions{})
		switch {
		case err == nil:
			r.tell(ctx, budget, seen, count)
			return seen, count.Recheck, nil
		case apierrors.IsNotFound(err):
			return nil, 0, nil
		case !apierrors.IsConflict(err) || attempt == attempts:
			return nil, 0, fmt.Errorf("update status: %w", err)
		}
		if budget, err = client.Get(ctx, budget.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil, 0, nil
		} else if err != nil {
			return nil, 0, fmt.Errorf("get PodUnavailableBudget: %w", err)
		}
	}
}

// tell says what a new count shows.
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

// notCounted reports what keeps a budget from being counted. Its last count stands. What a retry does not cure is looked at
// again from time to time: a kind may come to be served, and a rule to be added.
func (r *Reconciler) notCounted(budget *v1beta1.PodUnavailableBudget, err error) (controller.Result, error) {
	var remedy string
	switch {
	case apierrors.IsForbidden(err):
		remedy = "; let the controller read the kind and its scale subresource, by a ClusterRole with the label " +
			"rbac.kruise.io/aggregate-to-workloads: \"true\""
	case meta.IsNoMatchError(err):
		remedy = "; correct spec.targetRef, or install the kind"
	case apierrors.IsConflict(err), apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err), errors.Is(err, context.Canceled):
		return controller.Result{}, err
	}
	r.recorder.Eventf(budget, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed",
		"Failed to calculate the number of expected pods: %v%s", err, remedy)
	if remedy == "" {
		return controller.Result{}, err
	}
	return controller.Result{RequeueAfter: unseenPeriod}, nil
}
