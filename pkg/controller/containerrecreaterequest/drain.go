package containerrecreaterequest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/readiness"
)

// finalizer keeps a request until its Pod is back in service.
const finalizer = pub.ContainerRecreateRequestUnreadyAcquiredKey

// drain takes the Pod out of service if the request asks for it. It returns whether it has just done so. The finalizer is added
// first, so the Pod is put back into service before the request is deleted, whatever happens. The condition with the time is written
// last, because the agent counts the grace period from that time. A crash after any of these writes is harmless: the next pass finds
// the finalizer or the key, and repeats only what is missing.
func (r *Reconciler) drain(
	ctx context.Context, request *v1beta1.ContainerRecreateRequest, pod *corev1.Pod,
) (_ *v1beta1.ContainerRecreateRequest, drained bool, err error) {
	// A nil grace period means that the Pod stays in service. The drain is made once: its condition records that.
	if strategy := request.Spec.Strategy; strategy == nil || strategy.UnreadyGracePeriodSeconds == nil || isDrained(request) {
		return request, false, nil
	}
	// Without the readiness gate, the key has no effect. The grace period still counts (case 18 of
	// docs/contract/containerrecreaterequest.md).
	if !readiness.Gated(pod) {
		return request, true, nil
	}
	if !slices.Contains(request.Finalizers, finalizer) {
		klog.FromContext(ctx).V(2).Info("Taking the Pod out of service")
		request, err = r.setFinalizers(ctx, request, append(slices.Clone(request.Finalizers), finalizer))
		if err != nil {
			return nil, false, err
		}
	}
	// Adding a key that is already there changes nothing, so a repeated pass does no harm.
	key := keyOf(types.NamespacedName{Namespace: request.Namespace, Name: request.Name})
	err = r.changeReadiness(ctx, pod, func(pod *corev1.Pod, now time.Time) bool { return readiness.Add(pod, key, now) })
	return request, err == nil, err
}

// isDrained reports whether the grace period of the request has begun.
func isDrained(request *v1beta1.ContainerRecreateRequest) bool { return drainedSince(request) != nil }

// drainedSince returns when the request took its Pod out of service, or nil.
func drainedSince(request *v1beta1.ContainerRecreateRequest) *time.Time {
	i := slices.IndexFunc(request.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1beta1.ContainerRecreateRequestConditionPreRecreateGrace && c.Status == metav1.ConditionTrue
	})
	// Only a request that asks for a grace period can have one, whatever its conditions say.
	if i < 0 || request.Spec.Strategy == nil || request.Spec.Strategy.UnreadyGracePeriodSeconds == nil {
		return nil
	}
	return &request.Status.Conditions[i].LastTransitionTime.Time
}

// drainedAt returns the condition that records the time. It has whole seconds, rounded up, so no grace period is shortened.
func drainedAt(pod *corev1.Pod, now time.Time) metav1.Condition {
	message := ""
	if !readiness.Gated(pod) {
		message = "the Pod stays in service, because it has no readiness gate " + string(pub.KruisePodReadyConditionType)
	}
	return metav1.Condition{
		Message: message,
		Type:    v1beta1.ContainerRecreateRequestConditionPreRecreateGrace, Status: metav1.ConditionTrue,
		Reason:             v1beta1.ContainerRecreateRequestConditionPreRecreateGrace,
		LastTransitionTime: metav1.NewTime(now.Add(time.Second - time.Nanosecond).Truncate(time.Second)),
	}
}

// sweep removes the key of a deleted request from the Pods that still have it. This is needed if a client removed the finalizer. The
// server is asked, because the cache of requests can be older than the Pod's condition.
func (r *Reconciler) sweep(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	held, err := r.heldPods(key)
	if err != nil || len(held) == 0 {
		return reconcile.Result{}, err
	}
	_, err = r.kruise.AppsV1beta1().ContainerRecreateRequests(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err == nil {
		return reconcile.Result{}, nil // The cache will show the request soon.
	}
	if !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("get request: %w", err)
	}
	return reconcile.Result{}, r.giveBack(ctx, key, held)
}

// releaseOthers removes the key of the request from Pods that have it from an earlier request of the same name.
func (r *Reconciler) releaseOthers(ctx context.Context, request *v1beta1.ContainerRecreateRequest) error {
	key := types.NamespacedName{Namespace: request.Namespace, Name: request.Name}
	held, err := r.heldPods(key)
	if err != nil {
		return err
	}
	return r.giveBack(ctx, key, slices.DeleteFunc(held, func(pod *corev1.Pod) bool { return isOf(request, pod) }))
}

// release puts the Pod back into service and removes the finalizer. The finalizer is removed last, so a crash in between leaves a
// request that is released again.
func (r *Reconciler) release(ctx context.Context, request *v1beta1.ContainerRecreateRequest) error {
	key := types.NamespacedName{Namespace: request.Namespace, Name: request.Name}
	held, err := r.heldPods(key)
	if err != nil {
		return err
	}
	index := slices.Index(request.Finalizers, finalizer)
	if index >= 0 {
		// The cache may not show the write of an earlier pass yet.
		pod, err := r.podOf(ctx, request)
		if err != nil {
			return err
		}
		// The finalizer says that the Pod may have the key. It is only checked on the server, by changeReadiness.
		if pod != nil && !slices.ContainsFunc(held, func(p *corev1.Pod) bool { return p.UID == pod.UID }) {
			held = append(held, pod)
		}
	}
	if err := r.giveBack(ctx, key, held); err != nil || index < 0 {
		return err
	}
	_, err = r.setFinalizers(ctx, request, slices.Delete(slices.Clone(request.Finalizers), index, index+1))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// heldPods returns the Pods in the cache that the request keeps out of service. A Pod of another namespace is never one of them.
func (r *Reconciler) heldPods(key types.NamespacedName) (held []*corev1.Pod, _ error) {
	items, err := r.podIndex.ByIndex(holderIndex, key.String())
	if err != nil {
		return nil, fmt.Errorf("list Pods held by the request: %w", err)
	}
	for _, item := range items {
		if pod, ok := item.(*corev1.Pod); ok && pod.Namespace == key.Namespace {
			held = append(held, pod)
		}
	}
	return held, nil
}

// giveBack removes the key of a request from Pods. A Pod without the key is not written.
func (r *Reconciler) giveBack(ctx context.Context, key types.NamespacedName, pods []*corev1.Pod) error {
	for _, pod := range pods {
		klog.FromContext(ctx).V(2).Info("Putting the Pod back into service", "pod", klog.KObj(pod))
		err := r.changeReadiness(ctx, pod, func(pod *corev1.Pod, now time.Time) bool { return readiness.Remove(pod, keyOf(key), now) })
		if err != nil {
			return err
		}
	}
	return nil
}

// changeReadiness applies a change to the current Pod. It ignores a Pod that is deleted or terminating. The Pod is read from the
// server, because the patch must contain all readiness keys of the condition, also the newest ones of others.
func (r *Reconciler) changeReadiness(ctx context.Context, cached *corev1.Pod, change func(*corev1.Pod, time.Time) bool) error {
	pods := r.kube.CoreV1().Pods(cached.Namespace)
	pod, err := pods.Get(ctx, cached.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && (pod.UID != cached.UID || pod.DeletionTimestamp != nil) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Pod: %w", err)
	}
	after := pod.DeepCopy()
	// The key is as it should be already, so there is no write.
	if !change(after, r.clock.Now()) {
		return nil
	}
	// The patch is for this version of the Pod only. After a conflict, the queue repeats the pass.
	patch, err := podcontrol.Patch(pod, after, true)
	if err != nil {
		return err
	}
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patch status of Pod: %w", err)
	}
	return nil
}

// setFinalizers replaces the finalizers of a request. The resourceVersion in the patch keeps it from dropping a finalizer that
// another client adds at the same time.
func (r *Reconciler) setFinalizers(
	ctx context.Context, request *v1beta1.ContainerRecreateRequest, finalizers []string,
) (*v1beta1.ContainerRecreateRequest, error) {
	updated, err := r.patch(ctx, request, map[string]any{
		"uid": request.UID, "resourceVersion": request.ResourceVersion, "finalizers": finalizers,
	})
	if err != nil {
		return nil, fmt.Errorf("set finalizers: %w", err)
	}
	return updated, nil
}

// patch changes the metadata of a request.
func (r *Reconciler) patch(
	ctx context.Context, request *v1beta1.ContainerRecreateRequest, metadata map[string]any,
) (*v1beta1.ContainerRecreateRequest, error) {
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return r.kruise.AppsV1beta1().ContainerRecreateRequests(request.Namespace).Patch(ctx, request.Name, types.MergePatchType, patch,
		metav1.PatchOptions{})
}
