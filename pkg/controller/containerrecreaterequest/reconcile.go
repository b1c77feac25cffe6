package containerrecreaterequest

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/reconcile"
)

// Reconciler reconciles ContainerRecreateRequests.
type Reconciler struct {
	kube   kubernetes.Interface
	kruise versioned.Interface
	// requestIndex finds unfinished requests by Pod and by node. podIndex finds Pods by the requests that hold them.
	requestIndex cache.Indexer
	pods         corelisters.PodLister
	podIndex     cache.Indexer
	agents       *controller.Agents
	// absences is the only state in memory.
	absences absences
	clock    clock.PassiveClock
}

// Reconcile advances, ends or cleans up one request. A request that has ended is not judged again, whatever its agent still reports.
func (r *Reconciler) Reconcile(ctx context.Context, request *v1beta1.ContainerRecreateRequest) (reconcile.Result, error) {
	// A request that is deleted during the drain puts its Pod back first. The finalizer waits for that.
	if request.DeletionTimestamp != nil || request.Status.CompletionTime != nil {
		return r.finish(ctx, request)
	}
	if err := r.releaseOthers(ctx, request); err != nil {
		return reconcile.Result{}, err
	}
	pod, err := r.podOf(ctx, request)
	if err != nil {
		return reconcile.Result{}, err
	}
	absent, err := r.absentSince(request)
	if err != nil {
		return reconcile.Result{}, err
	}
	now := r.clock.Now()
	// complete decides again on the object that it writes.
	if over(request, pod, absent, now) != "" {
		return reconcile.Result{}, r.complete(ctx, request, pod, absent)
	}
	result := reconcile.Result{RequeueAfter: nextLimit(request, absent, now)}
	// Until the agent has picked the request up, nothing may be changed for it. A request that waits for its turn must not drain the
	// Pod.
	if request.Status.Phase != v1beta1.ContainerRecreateRequestRecreating {
		return result, nil
	}
	return result, r.progress(ctx, request, pod)
}

// podOf returns the request's Pod, or nil if it is deleted. Pods and requests come from different servers, so the cache of Pods
// may lag. A Pod that the cache does not have is read from the API server before the request is ended.
func (r *Reconciler) podOf(ctx context.Context, request *v1beta1.ContainerRecreateRequest) (*corev1.Pod, error) {
	pod, err := r.pods.Pods(request.Namespace).Get(request.Spec.PodName)
	if err == nil && isOf(request, pod) {
		return pod, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get Pod: %w", err)
	}
	// A Pod that was created just before the request may be missing in the cache.
	pod, err = r.kube.CoreV1().Pods(request.Namespace).Get(ctx, request.Spec.PodName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get Pod: %w", err)
	case !isOf(request, pod):
		return nil, nil
	}
	return pod, nil
}

// isOf reports whether the Pod is the one that the request was created for, and not a later Pod of the same name. Admission wrote the
// label, and it cannot change.
func isOf(request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod) bool {
	return string(pod.UID) == request.Labels[pub.ContainerRecreateRequestPodUIDKey]
}

// progress writes what the agent needs to know about the Pod, in one write. One write of the status is one event for the agent.
func (r *Reconciler) progress(ctx context.Context, request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod) error {
	request, drained, err := r.drain(ctx, request, pod)
	if err != nil {
		return err
	}
	return r.report(ctx, request, func(fresh *v1beta1.ContainerRecreateRequest) {
		// The fresh request may have ended meanwhile.
		if fresh.Status.Phase != v1beta1.ContainerRecreateRequestRecreating {
			return
		}
		fresh.Status.ContainerStatusSnapshot = snapshot(fresh, pod)
		fresh.Status.Message = backOff(fresh, pod)
		if drained && !isDrained(fresh) {
			fresh.Status.Conditions = append(fresh.Status.Conditions, drainedAt(pod, r.clock.Now()))
		}
	})
}

// complete ends a request, unless the agent's last status makes that unnecessary. It leaves the states of the containers as they
// are: a stop that has begun continues, and the agent records its result in the ended request.
func (r *Reconciler) complete(
	ctx context.Context, request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod, absent *time.Time,
) error {
	now := r.clock.Now()
	return r.report(ctx, request, func(fresh *v1beta1.ContainerRecreateRequest) {
		// The agent may have answered since the cache was read.
		reason := over(fresh, pod, absent, now)
		if reason == "" || fresh.Status.CompletionTime != nil {
			return
		}
		klog.FromContext(ctx).V(2).Info("Ending the request", "reason", reason)
		fresh.Status.Phase, fresh.Status.Message = v1beta1.ContainerRecreateRequestCompleted, reason
		fresh.Status.CompletionTime = new(metav1.NewTime(now))
	})
}

// report edits the status. The agent writes the status too, so edit runs again after a conflict.
func (r *Reconciler) report(
	ctx context.Context, request *v1beta1.ContainerRecreateRequest, edit func(*v1beta1.ContainerRecreateRequest),
) error {
	_, err := controller.UpdateStatus(ctx, r.kruise.AppsV1beta1().ContainerRecreateRequests(request.Namespace), request,
		func(fresh *v1beta1.ContainerRecreateRequest) error {
			edit(fresh)
			return nil
		})
	return err
}
