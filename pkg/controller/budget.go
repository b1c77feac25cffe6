package controller

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/refusals"
)

// Budget returns the budget for updates, or nil if its feature gate is off. The budget reads cached PodUnavailableBudgets by index,
// but reserves with a write to the server, so two replicas or a stale cache cannot grant the same Pod twice.
func (c *Of[T]) Budget() engine.Budget {
	if !c.deps.Features.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil
	}
	informer := c.deps.KruiseInformers.Policy().V1beta1().PodUnavailableBudgets()
	var budgets cache.Indexer
	for name, values := range disruption.Indexers() {
		budgets = c.Index(informer, name, values)
	}
	return counted{disruption.NewReserver(budgets, c.deps.Kruise.PolicyV1beta1(), c.deps.Clock), c.deps.BudgetRefusals}
}

// managerUser is the user of updates by controllers in the metric of refusals.
const managerUser = "kruise-manager"

// counted is a budget whose refusals are counted. The manager is one user in that metric.
type counted struct {
	engine.Budget
	refusals *refusals.Counter
}

// Reserve implements engine.Budget.
func (c counted) Reserve(ctx context.Context, workload metav1.Object, kind schema.GroupKind, pod *corev1.Pod) error {
	err := c.Budget.Reserve(ctx, workload, kind, pod)
	var refusal *disruption.Refusal
	// NotObserved is no refusal by the user's numbers. It ends as soon as the budget's controller has counted, and the update is
	// tried again.
	if c.refusals != nil && errors.As(err, &refusal) && refusal.Reason != disruption.NotObserved {
		c.refusals.Count(strings.Join([]string{kind.Kind, workload.GetNamespace(), workload.GetName()}, "_"), managerUser)
	}
	return err
}

// OwnedIn returns the objects of an indexer by owner, in the form that an engine reads. IndexByOwner must have added the index.
func OwnedIn[O any](indexer cache.Indexer) engine.Owned[O] {
	return func(owner types.UID) ([]O, error) { return ByOwner[O](indexer, owner) }
}
