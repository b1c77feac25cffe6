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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/groupcommit"
)

const (
	// refusedRetry is how soon a Pod is tried again that a budget did not let go.
	refusedRetry = time.Second
	// leaveAttempts is how often grants that lost against another writer are tried again at once.
	leaveAttempts = 10
)

// leaver asks PodUnavailableBudgets for leave to take a Pod out of service. A container is changed only after its Pod is out of
// service; a webhook that sees the change comes too late to ask.
type leaver struct {
	budgets disruption.Budgets
	kruise  versioned.Interface
	clock   clock.PassiveClock
	// writer takes what several Pods ask of one budget at once in one write.
	writer *groupcommit.Writer[types.NamespacedName, *policyv1beta1.PodUnavailableBudget]
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
	l := &leaver{budgets: informer.GetIndexer(), kruise: deps.Kruise, clock: deps.Clock}
	l.writer = groupcommit.New(l.write)
	return l, nil
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
	key := types.NamespacedName{Namespace: budget.Namespace, Name: budget.Name}
	return l.writer.Do(ctx, key, func(stored *policyv1beta1.PodUnavailableBudget) error {
		return disruption.Spend(stored, request, l.clock.Now())
	})
}

// errBusy is a budget that others write all the time.
var errBusy = errors.New("PodUnavailableBudget is written by others all the time")

// write stores grants over the very budget that gave them. A budget that is gone bounds nothing.
func (l *leaver) write(ctx context.Context, key types.NamespacedName, spend func(*policyv1beta1.PodUnavailableBudget) error) error {
	client := l.kruise.PolicyV1beta1().PodUnavailableBudgets(key.Namespace)
	for range leaveAttempts {
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
			return fmt.Errorf("spend PodUnavailableBudget %s: %w", key.Name, err)
		}
	}
	return fmt.Errorf("spend PodUnavailableBudget %s: %w", key.Name, errBusy)
}

// refused tells whether a budget did not let a Pod go: it said so to us, or to the server that we asked, or could not be asked
// because others were always faster.
func refused(err error) bool {
	var refusal *disruption.Refusal
	return errors.As(err, &refusal) || apierrors.HasStatusCause(err, disruption.Cause) || errors.Is(err, errBusy)
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
