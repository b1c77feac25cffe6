package cloneset

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/disruption"
)

const (
	// refusedRetry is how soon a Pod is tried again that a budget did not let go.
	refusedRetry = time.Second
	// leaveAttempts is how often a grant that lost against another writer is tried again at once.
	leaveAttempts = 10
)

// leaver asks PodUnavailableBudgets for leave to take a Pod out of service. A container is changed only after its Pod is out of
// service; a webhook that sees the change comes too late to ask.
type leaver struct {
	budgets disruption.Budgets
	kruise  versioned.Interface
	clock   clock.PassiveClock
}

// newLeaver is nil where the gate leaves updates unbounded.
func newLeaver(deps controller.Deps) (*leaver, error) {
	if !deps.Features.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil, nil //nolint:nilnil // see above
	}
	informer := deps.KruiseInformers.Policy().V1beta1().PodUnavailableBudgets().Informer()
	for name, values := range disruption.Indexers() {
		if err := controller.Index(informer, name, values); err != nil {
			return nil, fmt.Errorf("index budgets: %w", err)
		}
	}
	return &leaver{budgets: informer.GetIndexer(), kruise: deps.Kruise, clock: deps.Clock}, nil
}

// leave takes the Pod's part of its budget, or returns a disruption.Refusal. A nil leaver asks nobody.
func (l *leaver) leave(ctx context.Context, set *v1beta1.CloneSet, pod *corev1.Pod) error {
	request := &disruption.Request{Operation: policyv1beta1.PubUpdateOperation, Pod: pod}
	if l == nil || disruption.Exempt(request) {
		return nil
	}
	workloads := []disruption.Workload{{GroupKind: kind.GroupKind(), Name: set.Name}}
	if above := metav1.GetControllerOfNoCopy(set); above != nil {
		workloads = append(workloads, disruption.WorkloadOf(above.APIVersion, above.Kind, above.Name))
	}
	budget, err := disruption.Governing(l.budgets, pod.Namespace, pod.Labels, workloads)
	if err != nil || budget == nil {
		return err
	}
	return l.spend(ctx, budget, request)
}

// spend writes the grant over the very budget that gave it.
func (l *leaver) spend(ctx context.Context, budget *policyv1beta1.PodUnavailableBudget, request *disruption.Request) error {
	client := l.kruise.PolicyV1beta1().PodUnavailableBudgets(budget.Namespace)
	for attempt := 1; ; attempt++ {
		stored, err := client.Get(ctx, budget.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get PodUnavailableBudget %s: %w", budget.Name, err)
		}
		spent := stored.DeepCopy()
		if err := disruption.Spend(spent, request, l.clock.Now()); err != nil {
			return err
		}
		if apiequality.Semantic.DeepEqual(stored.Status, spent.Status) {
			return nil
		}
		_, err = client.UpdateStatus(ctx, spent, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) && attempt < leaveAttempts {
			continue
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("spend PodUnavailableBudget %s: %w", budget.Name, err)
		}
		return nil
	}
}

// refused tells whether a budget did not let a Pod go: it said so to us, or to the server that we asked.
func refused(err error) bool {
	var refusal *disruption.Refusal
	return errors.As(err, &refusal) || apierrors.HasStatusCause(err, disruption.Cause)
}

// withoutRefusals returns whether a budget was the reason for any failure, and what failed for another. That is no
// failure: the Pod's turn comes.
func withoutRefusals(err error) (held bool, rest error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var failures []error
		for _, part := range joined.Unwrap() {
			one, failure := withoutRefusals(part)
			failures, held = append(failures, failure), held || one
		}
		return held, errors.Join(failures...)
	}
	if refused(err) {
		return true, nil
	}
	return false, err
}
