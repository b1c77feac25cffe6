package why

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/workload"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Read collects the facts about an object: a workload that rolls out, a Pod, or a PodUnavailableBudget. Another kind
// is an error that names these. It reads from the server at each call.
func Read(ctx context.Context, c *cluster.Cluster, now clock.PassiveClock, kind schema.GroupKind, object runtime.Object) (*Facts, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	f := &Facts{Now: now.Now()}
	// Every kind of object can be held back by a budget.
	if f.Budgets, err = budgets(ctx, c, accessor.GetNamespace()); err != nil {
		return nil, err
	}
	row := workload.KindOf(kind)
	switch {
	case row != nil && row.RollsOut():
		err = f.readWorkload(ctx, c, row, accessor.GetNamespace(), accessor.GetName())
	case kind == policyv1beta1.SchemeGroupVersion.WithKind("PodUnavailableBudget").GroupKind():
		err = f.readBudget(ctx, c, accessor.GetNamespace(), accessor.GetName())
	default:
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("why does not know %s: name a cloneset, statefulset.apps.kruise.io, daemonset.apps.kruise.io, pod or "+
				"podunavailablebudget", kind)
		}
		err = f.readPod(ctx, c, pod)
	}
	if err != nil {
		return nil, err
	}
	f.Warnings, err = c.Warnings(ctx, accessor, current(f.Pod))
	return f, err
}

// current returns the time since which warnings about a Pod can explain its state. A Pod that is ready got over all earlier ones, and a
// Pod that has a node got over those of the scheduler. The zero time stands for no Pod and for a Pod without a node.
func current(pod *corev1.Pod) time.Time {
	if pod == nil {
		return time.Time{}
	}
	for _, state := range []corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled} {
		if c := podstate.Condition(pod, state); c != nil && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// readWorkload reads the workload, its progress, its Pods, and the warnings about the first Pod that is not available.
func (f *Facts) readWorkload(ctx context.Context, c *cluster.Cluster, row *workload.Kind, namespace, name string) (err error) {
	if f.Workload, err = c.Workload(ctx, row, namespace, name); err != nil {
		return err
	}
	if f.Progress, err = f.Workload.Progress(); err != nil {
		return err
	}
	if f.Pods, err = c.Pods(ctx, f.Workload); err != nil {
		return err
	}
	if waiting := f.unavailable(); len(waiting) > 0 {
		f.PodWarnings, err = c.Warnings(ctx, waiting[0], current(waiting[0]))
	}
	return err
}

// readPod also reads the workload that controls the Pod, for its hooks. A workload that is gone or of another kind
// has none.
func (f *Facts) readPod(ctx context.Context, c *cluster.Cluster, pod *corev1.Pod) error {
	f.Pod = pod
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return nil
	}
	row := workload.KindOf(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind())
	if row == nil || !row.RollsOut() {
		return nil
	}
	found, err := c.Workload(ctx, row, pod.Namespace, owner.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.Workload = found
	return err
}

// readBudget also reads the Pods that name the budget. It reads all Pods of the namespace, because the controller may
// select them by their workload and not by labels.
func (f *Facts) readBudget(ctx context.Context, c *cluster.Cluster, namespace, name string) error {
	for _, budget := range f.Budgets {
		if budget.Name == name {
			f.Budget = budget
		}
	}
	if f.Budget == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: policyv1beta1.SchemeGroupVersion.Group, Resource: "podunavailablebudgets"}, name)
	}
	list, err := c.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	for i := range list.Items {
		if f.governing(&list.Items[i]) == f.Budget {
			f.Pods = append(f.Pods, &list.Items[i])
		}
	}
	slices.SortFunc(f.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// budgets returns the budgets of a namespace. A user who may not read them gets answers without them.
func budgets(ctx context.Context, c *cluster.Cluster, namespace string) ([]*policyv1beta1.PodUnavailableBudget, error) {
	list, err := c.Kruise.PolicyV1beta1().PodUnavailableBudgets(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list PodUnavailableBudgets: %w", err)
	}
	all := make([]*policyv1beta1.PodUnavailableBudget, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}
