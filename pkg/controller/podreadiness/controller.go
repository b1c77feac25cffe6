package podreadiness

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/readiness"
)

// Name is the controller's name in logs and metrics.
const Name = "podreadiness-controller"

// Reconciler sets the first readiness condition of Pods. It has no guard: a second write of the same condition fails because of
// its precondition.
type Reconciler struct {
	kube  kubernetes.Interface
	clock clock.PassiveClock
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	r := &Reconciler{kube: deps.Kube, clock: deps.Clock}
	c := controller.For(deps, Name, deps.KubeInformers.Core().V1().Pods(), r.Reconcile)
	c.When(due)
	return c.Build()
}

// due reports whether the Pod lacks the condition and no other controller sets it. The controllers of this project set it
// together with the first conditions of their Pods, so a write here would only conflict with theirs.
func due(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || !readiness.Unset(pod) {
		return false
	}
	kind := kinds.OfController(pod)
	return kind == nil || !kind.SetsReadiness
}

// Reconcile writes the condition only if the Pod is unchanged since it was read, because another party may have added a key:
// True would then put the Pod into service against its will. A conflict is retried with the Pod that the cache shows then.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	after := pod.DeepCopy()
	readiness.Begin(after, r.clock.Now())
	patch, err := podcontrol.Patch(pod, after, true)
	if err != nil {
		return reconcile.Result{}, err
	}
	_, err = r.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("patch status: %w", err)
	}
	return reconcile.Result{}, nil
}
