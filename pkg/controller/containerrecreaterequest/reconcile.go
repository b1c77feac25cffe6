package containerrecreaterequest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
)

// Reconciler works on one request at a time.
type Reconciler struct {
	kube         kubernetes.Interface
	kruise       versioned.Interface
	requests     listers.ContainerRecreateRequestLister
	requestIndex cache.Indexer
	pods         corelisters.PodLister
	podIndex     cache.Indexer
	clock        clock.PassiveClock
}

func newReconciler(deps controller.Deps) *Reconciler {
	requests := deps.KruiseInformers.Apps().V1beta1().ContainerRecreateRequests()
	pods := deps.KubeInformers.Core().V1().Pods()
	return &Reconciler{
		kube: deps.Kube, kruise: deps.Kruise, requests: requests.Lister(), requestIndex: requests.Informer().GetIndexer(),
		pods: pods.Lister(), podIndex: pods.Informer().GetIndexer(), clock: deps.Clock,
	}
}

// Reconcile moves one request on, or away.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	request, err := r.requests.ContainerRecreateRequests(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, r.sweep(ctx, key)
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("get request: %w", err)
	}
	if request.DeletionTimestamp != nil || request.Status.CompletionTime != nil {
		return r.finish(ctx, request)
	}
	pod, err := r.podOf(ctx, request)
	if err != nil {
		return controller.Result{}, err
	}
	now := r.clock.Now()
	if reason := over(request, pod, now); reason != "" {
		return controller.Result{}, r.complete(ctx, request, reason)
	}
	result := controller.Result{RequeueAfter: nextLimit(request, now)}
	if request.Status.Phase != v1beta1.ContainerRecreateRequestRecreating {
		return result, nil
	}
	return result, r.progress(ctx, request, pod)
}

// podOf returns the request's Pod, or nil when it is gone. Pods and requests come from different servers, and the cache of
// Pods may be behind: what it does not have is asked for before a request is ended for good.
func (r *Reconciler) podOf(ctx context.Context, request *v1beta1.ContainerRecreateRequest) (*corev1.Pod, error) {
	pod, err := r.pods.Pods(request.Namespace).Get(request.Spec.PodName)
	if err == nil && isOf(request, pod) {
		return pod, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get Pod: %w", err)
	}
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

// isOf tells whether the Pod is the one that the request was created for, and not another one of its name.
func isOf(request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod) bool {
	return string(pod.UID) == request.Labels[pub.ContainerRecreateRequestPodUIDKey]
}

// progress tells the agent what it needs to know of the Pod, in one write.
func (r *Reconciler) progress(ctx context.Context, request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod) error {
	request, drained, err := r.drain(ctx, request, pod)
	if err != nil {
		return err
	}
	status := request.Status.DeepCopy()
	status.ContainerStatusSnapshot = snapshot(request, pod)
	status.Message = backOff(request, pod)
	if drained {
		status.Conditions = append(status.Conditions, drainedAt(r.clock.Now()))
	}
	return r.report(ctx, request, status)
}

// complete ends a request. What its agent is doing at the moment goes on, and is not recorded any more.
func (r *Reconciler) complete(ctx context.Context, request *v1beta1.ContainerRecreateRequest, reason string) error {
	status := request.Status.DeepCopy()
	status.Phase, status.Message = v1beta1.ContainerRecreateRequestCompleted, reason
	status.CompletionTime = new(metav1.NewTime(r.clock.Now()))
	if reason == deadlineExceeded {
		status.ContainerRecreateStates = failUnfinished(request)
	}
	klog.FromContext(ctx).V(2).Info("Ending the request", "reason", reason)
	return r.report(ctx, request, status)
}

// report writes a status, if there is anything new, over the version of the request that it was decided on.
func (r *Reconciler) report(
	ctx context.Context, request *v1beta1.ContainerRecreateRequest, status *v1beta1.ContainerRecreateRequestStatus,
) error {
	if apiequality.Semantic.DeepEqual(&request.Status, status) {
		return nil
	}
	updated := request.DeepCopy()
	updated.Status = *status
	_, err := r.kruise.AppsV1beta1().ContainerRecreateRequests(request.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}
