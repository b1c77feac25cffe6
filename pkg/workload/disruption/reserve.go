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

// reserveAttempts is how often a grant is tried at once that lost against another writer of its budget.
const reserveAttempts = 10

// errContended is a budget that changed at each attempt to write it.
var errContended = errors.New("another client changed the PodUnavailableBudget at every attempt")

// Reserver reserves budget before a workload takes a Pod out of service. A container changes only after its Pod is out of service,
// so a webhook that sees the change would ask too late.
type Reserver struct {
	budgets Budgets
	client  policyclient.PodUnavailableBudgetsGetter
	clock   clock.PassiveClock
	// writer takes what several Pods reserve of one budget at once in one write.
	writer *groupcommit.Writer[types.NamespacedName, *v1beta1.PodUnavailableBudget]
}

// NewReserver makes a Reserver over cached budgets, which have the indexes of Indexers.
func NewReserver(budgets Budgets, client policyclient.PodUnavailableBudgetsGetter, clock clock.PassiveClock) *Reserver {
	r := &Reserver{budgets: budgets, client: client, clock: clock}
	r.writer = groupcommit.New(r.write)
	return r
}

// Reserve takes the Pod's part of the budget that governs it, if there is one. It returns an error for which Refused is true when
// the Pod has to wait.
func (r *Reserver) Reserve(ctx context.Context, workload metav1.Object, kind schema.GroupKind, pod *corev1.Pod) error {
	request := &Request{Operation: v1beta1.PubUpdateOperation, Pod: pod}
	if Exempt(request) {
		return nil
	}
	workloads := []Workload{{GroupKind: kind, Name: workload.GetName()}}
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

// write stores grants over the very version of the budget that gave them. A budget that was deleted bounds nothing.
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

// Refused tells whether a budget holds the Pod: it said so here, or to the server that was asked, or others always wrote it first.
func Refused(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) || apierrors.HasStatusCause(err, Cause) || errors.Is(err, errContended)
}

// WithoutRefusals returns whether a budget was the reason of any of the joined errors, and the errors with another reason.
func WithoutRefusals(err error) (refused bool, rest error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var failures []error
		for _, part := range joined.Unwrap() {
			one, failure := WithoutRefusals(part)
			failures, refused = append(failures, failure), refused || one
		}
		return refused, errors.Join(failures...)
	}
	if Refused(err) {
		return true, nil
	}
	return false, err
}
