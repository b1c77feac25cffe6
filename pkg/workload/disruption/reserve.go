package disruption

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	policyclient "kruise.io/kruise/pkg/generated/clientset/versioned/typed/policy/v1beta1"
	"kruise.io/kruise/pkg/workload/groupcommit"
)

// reserveAttempts is how often a write is retried at once after a conflict on the budget. The apiserver grants on the same
// object.
const reserveAttempts = 10

// errContended means that the budget changed at every attempt to write it. Refused is true for it, so the Pod is tried again.
var errContended = errors.New("other clients changed the PodUnavailableBudget during every attempt")

// Reserver reserves budget before a workload takes a Pod out of service. A container changes only after its Pod is out of service,
// so a webhook that sees the change would ask too late.
type Reserver struct {
	// budgets finds the budget in a cache. Only its name is used; the decision is made on the stored budget.
	budgets Budgets
	client  policyclient.PodUnavailableBudgetsGetter
	clock   clock.PassiveClock
	// writer combines concurrent reservations of one budget into one write.
	writer *groupcommit.Writer[types.NamespacedName, *v1beta1.PodUnavailableBudget]
}

// NewReserver returns a Reserver over cached budgets. The cache must have the indexes of Indexers.
func NewReserver(budgets Budgets, client policyclient.PodUnavailableBudgetsGetter, clock clock.PassiveClock) *Reserver {
	r := &Reserver{budgets: budgets, client: client, clock: clock}
	r.writer = groupcommit.New(r.write)
	return r
}

// Reserve reserves the Pod's share of the budget that governs it. It returns nil if no budget governs the Pod. If the Pod has
// to wait, it returns an error for which Refused is true. The grant is stored when it returns nil.
func (r *Reserver) Reserve(ctx context.Context, workload metav1.Object, kind schema.GroupKind, pod *corev1.Pod) error {
	request := &Request{Operation: v1beta1.PubUpdateOperation, Pod: pod}
	if Exempt(request) {
		return nil
	}
	workloads := []Workload{{GroupKind: kind, Name: workload.GetName()}}
	// A Pod of a workload that another workload controls may have a budget for that one.
	if above := metav1.GetControllerOfNoCopy(workload); above != nil {
		workloads = append(workloads, WorkloadOf(above.APIVersion, above.Kind, above.Name))
	}
	budget, err := Governing(r.budgets, pod.Namespace, pod.Labels, workloads)
	if err != nil || budget == nil {
		return err
	}
	key := types.NamespacedName{Namespace: budget.Namespace, Name: budget.Name}
	return r.writer.Do(ctx, key, func(stored *v1beta1.PodUnavailableBudget) error {
		return Spend(stored, request, r.clock.Now())
	})
}

// write stores grants only if the budget is unchanged since it was read. A deleted budget limits nothing. It implements the
// write of package groupcommit: spend may be called several times, each time on a fresh copy.
func (r *Reserver) write(ctx context.Context, key types.NamespacedName, spend func(*v1beta1.PodUnavailableBudget) error) error {
	client := r.client.PodUnavailableBudgets(key.Namespace)
	for range reserveAttempts {
		stored, err := client.Get(ctx, key.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get PodUnavailableBudget %s: %w", key.Name, err)
		}
		spent := stored.DeepCopy()
		if err := spend(spent); err != nil {
			return err
		}
		if apiequality.Semantic.DeepEqual(stored.Status, spent.Status) {
			return nil
		}
		_, err = client.UpdateStatus(ctx, spent, metav1.UpdateOptions{})
		switch {
		case err == nil:
			return nil
		case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
			return fmt.Errorf("reserve of PodUnavailableBudget %s: %w", key.Name, err)
		}
	}
	return fmt.Errorf("reserve of PodUnavailableBudget %s: %w", key.Name, errContended)
}

// Refused reports whether a budget caused the error: the budget refused here, the API server answered with a budget's refusal,
// or every attempt to write the budget conflicted. Such an error is no failure of the workload.
func Refused(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) || apierrors.HasStatusCause(err, Cause) || errors.Is(err, errContended)
}

// WithoutRefusals splits joined errors. It returns the first of them that is a refusal by a budget, and the errors that are none.
func WithoutRefusals(err error) (refusal, rest error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var failures []error
		for _, part := range joined.Unwrap() {
			one, failure := WithoutRefusals(part)
			if failures = append(failures, failure); refusal == nil {
				refusal = one
			}
		}
		return refusal, errors.Join(failures...)
	}
	if Refused(err) {
		return err, nil
	}
	return nil, err
}
