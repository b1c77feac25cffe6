package jobsidecarterminator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
)

// requestTTL is how long a finished request stays at least, in seconds, so that users can read what happened. A request that must be
// repeated is deleted earlier.
const requestTTL int32 = 60

// keptLonger is how much longer a finished request stays than the delay until it is repeated. Without the request, nothing would delay
// the next one.
const keptLonger = 30 * time.Second

// requestName returns the name of the one request of a Pod. The UID keeps Pods of the same name apart.
func requestName(pod *corev1.Pod) string { return "sidecar-termination-" + string(pod.UID) }

// stop requests the node agent to stop sidecars. There is one request for a Pod at a time. A request that has ended, or whose
// containers have started again, is replaced after a delay. The old request is deleted first, because the new one has its name. The
// event of its deletion causes the pass that creates the new one.
func (r *Reconciler) stop(ctx context.Context, pod *corev1.Pod, sidecars []sidecar) (reconcile.Result, error) {
	// The API refuses requests for containers that never started. The kubelet reports when one does.
	sidecars = slices.DeleteFunc(sidecars, func(s sidecar) bool { return s.status == nil || s.status.ContainerID == "" })
	if len(sidecars) == 0 {
		return reconcile.Result{}, nil
	}
	// The cache shows the request of an earlier pass: the guard has waited for it.
	existing, err := r.requestOf(pod)
	if err != nil {
		return reconcile.Result{}, err
	}
	if existing == nil {
		return r.request(ctx, pod, sidecars)
	}
	since := existing.Status.CompletionTime
	switch {
	case existing.DeletionTimestamp != nil:
		return reconcile.Result{}, nil // Its end is an event.
	case since == nil && !startedAgain(existing, sidecars):
		return reconcile.Result{}, nil // The agent is at work, or the controller of requests ends it.
	// The request has not ended, but what it stopped runs again. Its age decides about the delay.
	case since == nil:
		since = &existing.CreationTimestamp
	}
	// A request that does not name all sidecars is replaced without a delay: it was made for another group.
	if wait := r.retries.wait(pod.UID, since.Time); wait > 0 && covers(existing, sidecars) {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	klog.FromContext(ctx).V(2).Info("Replacing a request that did not end all sidecars", "request", klog.KObj(existing))
	if covers(existing, sidecars) {
		r.recorder.Eventf(pod, corev1.EventTypeWarning, reasonFailed, "sidecars %v still run after ContainerRecreateRequest %s; trying again: %s",
			names(sidecars), existing.Name, cmp.Or(existing.Status.Message, "the node agent stopped them, and they started again"))
	}
	err = r.kruise.AppsV1beta1().ContainerRecreateRequests(pod.Namespace).Delete(ctx, existing.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(existing.UID))})
	// Neither case is an error: the request is already deleted, or a new one has its name.
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return reconcile.Result{}, fmt.Errorf("delete request: %w", err)
	}
	return reconcile.Result{}, nil // The deletion is an event.
}

// requestOf returns the request for a Pod, or nil. A user can make other requests with the Pod as owner, so the name is compared. A
// request with that name and another controller is not the Pod's, see request.
func (r *Reconciler) requestOf(pod *corev1.Pod) (*v1beta1.ContainerRecreateRequest, error) {
	owned, err := controller.ByOwner[*v1beta1.ContainerRecreateRequest](r.requests, pod)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(owned, func(o *v1beta1.ContainerRecreateRequest) bool {
		return o.Name == requestName(pod) && metav1.IsControlledBy(o, pod)
	}); i >= 0 {
		return owned[i], nil
	}
	return nil, nil //nolint:nilnil // see above
}

// covers reports whether a request names all of the sidecars. A sidecar that had not started when the request was made is missing in
// it.
func covers(request *v1beta1.ContainerRecreateRequest, sidecars []sidecar) bool {
	for _, s := range sidecars {
		if !slices.ContainsFunc(request.Spec.Containers, func(c v1beta1.ContainerRecreateRequestContainer) bool {
			return c.Name == s.container.Name
		}) {
			return false
		}
	}
	return true
}

// startedAgain reports whether the agent has stopped one of the sidecars, and the kubelet has started it again. The kubelet does so
// under OnFailure, if the sidecar ended with an error. Instances are compared by their ID.
func startedAgain(request *v1beta1.ContainerRecreateRequest, sidecars []sidecar) bool {
	for _, s := range sidecars {
		for i := range request.Spec.Containers {
			container := &request.Spec.Containers[i]
			// Admission has recorded in StatusContext which instance the request is for.
			if container.Name != s.container.Name || container.StatusContext == nil || s.status.State.Running == nil {
				continue
			}
			if isStopped(request, container.Name) && s.status.ContainerID != container.StatusContext.ContainerID {
				return true
			}
		}
	}
	return false
}

// isStopped reports whether the agent has stopped a container. A container without a state has not been stopped yet.
func isStopped(request *v1beta1.ContainerRecreateRequest, name string) bool {
	for i := range request.Status.ContainerRecreateStates {
		if state := &request.Status.ContainerRecreateStates[i]; state.Name == name {
			return state.IsKilled
		}
	}
	return false
}

// request creates the request for a Pod. It forces the stop, because a container that restarted by itself must end too. It ignores
// failures, so one container that cannot be stopped does not keep the others. A user can have taken the name: then the Pod has to wait.
func (r *Reconciler) request(ctx context.Context, pod *corev1.Pod, sidecars []sidecar) (reconcile.Result, error) {
	ttl := max(requestTTL, int32((r.retries.next(pod.UID)+keptLonger)/time.Second))
	request := &v1beta1.ContainerRecreateRequest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: requestName(pod),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec: v1beta1.ContainerRecreateRequestSpec{
			PodName: pod.Name, TTLSecondsAfterFinished: &ttl,
			Strategy: &v1beta1.ContainerRecreateRequestStrategy{
				ForceRecreate: true, FailurePolicy: v1beta1.IgnoreContainerRecreateRequestFailurePolicy,
			},
		},
	}
	for _, name := range names(sidecars) {
		request.Spec.Containers = append(request.Spec.Containers, v1beta1.ContainerRecreateRequestContainer{Name: name})
	}
	created, err := r.kruise.AppsV1beta1().ContainerRecreateRequests(pod.Namespace).Create(ctx, request, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.nameTaken(ctx, pod)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("create request: %w", err)
	}
	r.guard.Wrote(pod.UID, requestResource.GroupResource(), created.ResourceVersion)
	r.retries.made(pod.UID)
	klog.FromContext(ctx).V(2).Info("Requested to stop sidecars", "containers", names(sidecars))
	r.recorder.Eventf(pod, corev1.EventTypeNormal, reasonEnding,
		"Kruise SidecarTerminator is trying to terminate sidecar %v using crr", names(sidecars))
	return reconcile.Result{}, nil
}

// nameTaken handles a request that has the name and is not in the cache. It is the Pod's own, which the cache will show, or one of a
// user, which stops nothing.
func (r *Reconciler) nameTaken(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	existing, err := r.kruise.AppsV1beta1().ContainerRecreateRequests(pod.Namespace).Get(ctx, requestName(pod), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && metav1.IsControlledBy(existing, pod) {
		return reconcile.Result{RequeueAfter: firstRetry}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("get request: %w", err)
	}
	// The request is not watched for this Pod, so it is looked for again.
	wait := r.retries.next(pod.UID)
	r.retries.made(pod.UID)
	r.recorder.Eventf(pod, corev1.EventTypeWarning, reasonFailed,
		"cannot stop sidecars, because ContainerRecreateRequest %s exists and does not belong to this Pod; delete it", existing.Name)
	return reconcile.Result{RequeueAfter: wait}, nil
}
