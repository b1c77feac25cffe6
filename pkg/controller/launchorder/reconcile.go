package launchorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/launch"
)

// Name is the controller's name in logs, events and metrics.
const Name = "container-launch-priority-controller"

const (
	// The ConfigMap of a Pod whose containers wait is read again, because it may have been deleted. The pause grows with the age of
	// the Pod. A Pod can wait for days, and each read is a request.
	leastRecheck, longestRecheck = 15 * time.Second, 5 * time.Minute
	// wakeDelay is the time between a key and the change of the Pod that wakes the kubelet. The kubelet watches ConfigMaps and Pods
	// separately, and would fail again if it saw the change of the Pod first.
	wakeDelay = time.Second
)

// opened is the value of a key that exists. The kubelet only needs the key. The value is the same for all.
const opened = "true"

// Reconciler lets the containers of Pods start.
type Reconciler struct {
	// kube reads ConfigMaps from the server. A cache would need the permission to list all ConfigMaps, and memory for them.
	kube     kubernetes.Interface
	recorder record.EventRecorder
	clock    clock.PassiveClock
}

// New returns the controller. It returns an error if an informer rejects a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	return build(deps).Build()
}

// build returns the controller under construction, for tests.
func build(deps controller.Deps) *controller.Of[*corev1.Pod] {
	r := &Reconciler{kube: deps.Kube, recorder: deps.Recorder(Name), clock: deps.Clock}
	c := controller.For(deps, Name, deps.KubeInformers.Core().V1().Pods(), r.Reconcile)
	c.When(concerned)
	return c
}

// Reconcile adds the keys of the containers that may start now, and wakes the kubelet until they do. The keys come before the
// annotations. After a crash in between, the next pass finds the keys and writes the annotations.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	o := orderOf(pod)
	r.warn(pod, &o)
	changed, err := r.open(ctx, pod, o.open)
	// The event told the user. The ConfigMap is not watched, so it is read again later.
	if errors.Is(err, errForeign) {
		return reconcile.Result{RequeueAfter: r.recheckIn(pod)}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	annotations := map[string]string{}
	// From then on, the Pod leaves the queue, see concerned.
	if o.done && !completed(pod) {
		annotations[pub.ContainerLaunchCompletedKey] = opened
	}
	result := reconcile.Result{RequeueAfter: r.recheckIn(pod)}
	// Waking comes in a later pass, see wakeDelay.
	if changed {
		result.RequeueAfter = wakeDelay
	} else if text := nextWake(pod, &o); text != "" {
		annotations[pub.ContainerLaunchOpenedKey], result.RequeueAfter = text, wakeDelay
	}
	return result, r.annotate(ctx, pod, annotations)
}

// recheckIn returns the time until the ConfigMap is read again.
func (r *Reconciler) recheckIn(pod *corev1.Pod) time.Duration {
	return min(max(r.clock.Since(pod.CreationTimestamp.Time)/4, leastRecheck), longestRecheck)
}

// warn tells the user about a container whose followers never start: it has failed, and nothing starts it again.
func (r *Reconciler) warn(pod *corev1.Pod, o *order) {
	if name, code, found := failed(pod, o); found {
		r.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedLaunchOrder",
			"containers of lower launch priorities never start, because container %s ended with exit code %d before it was ready, and "+
				"restartPolicy does not start it again; delete the Pod, or use the restartPolicy OnFailure", name, code)
	}
}

// open creates the ConfigMap of a Pod with the keys, or adds those that it lacks. It returns whether it wrote anything. The patch
// adds only missing keys and names the UID, so it cannot change the barrier of another Pod.
func (r *Reconciler) open(ctx context.Context, pod *corev1.Pod, keys []string) (changed bool, err error) {
	client := r.kube.CoreV1().ConfigMaps(pod.Namespace)
	existing, err := client.Get(ctx, launch.BarrierOf(pod.Name), metav1.GetOptions{})
	// An earlier Pod had this name, and garbage collection has not deleted its ConfigMap yet.
	if err == nil && ownerOf(existing) != pod.UID {
		err = r.remove(ctx, pod, existing)
	}
	switch {
	case apierrors.IsNotFound(err):
		if _, err = client.Create(ctx, barrier(pod, keys), metav1.CreateOptions{}); err != nil {
			return false, fmt.Errorf("create ConfigMap: %w", err)
		}
		klog.FromContext(ctx).V(2).Info("Created the barrier", "keys", keys)
		return true, nil
	case err != nil:
		return false, fmt.Errorf("get ConfigMap: %w", err)
	}
	missing := map[string]string{}
	for _, key := range keys {
		if existing.Data[key] != opened {
			missing[key] = opened
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": existing.UID}, "data": missing})
	if err != nil {
		return false, fmt.Errorf("encode patch: %w", err)
	}
	if _, err := client.Patch(ctx, existing.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return false, fmt.Errorf("add keys to ConfigMap: %w", err)
	}
	klog.FromContext(ctx).V(2).Info("Opened the barrier", "keys", keys)
	return true, nil
}

// errForeign means that a ConfigMap of a user has the name of a barrier.
var errForeign = errors.New("the ConfigMap of the barrier exists and does not belong to a Pod")

// remove deletes the ConfigMap of an earlier Pod of the same name, whose keys would let all containers start at once. It returns a
// NotFound error if the ConfigMap is deleted now. A ConfigMap of a user stays. The UID is a precondition, so a barrier that another
// pass has just created stays.
func (r *Reconciler) remove(ctx context.Context, pod *corev1.Pod, existing *corev1.ConfigMap) error {
	if ownerOf(existing) == "" {
		r.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedLaunchOrder",
			"containers wait, because the ConfigMap %s exists and does not belong to a Pod; delete or rename it", existing.Name)
		return errForeign
	}
	klog.FromContext(ctx).V(2).Info("Deleting the barrier of an earlier Pod of this name")
	err := r.kube.CoreV1().ConfigMaps(pod.Namespace).Delete(ctx, existing.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(existing.UID))})
	if err != nil {
		return err
	}
	return apierrors.NewNotFound(corev1.Resource("configmaps"), existing.Name)
}

// ownerOf returns the UID of the Pod that owns a ConfigMap, or "". A ConfigMap with any other owner counts as one of a user.
func ownerOf(barrier *corev1.ConfigMap) types.UID {
	for _, ref := range barrier.OwnerReferences {
		if ref.Kind == "Pod" && ref.APIVersion == "v1" {
			return ref.UID
		}
	}
	return ""
}

// barrier returns the ConfigMap of a Pod. It is deleted with the Pod. The owner reference names the UID, so garbage collection does
// not keep it for a later Pod of the same name.
func barrier(pod *corev1.Pod, keys []string) *corev1.ConfigMap {
	data := map[string]string{}
	for _, key := range keys {
		data[key] = opened
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: launch.BarrierOf(pod.Name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}},
		},
		Data: data,
	}
}

// annotate sets annotations of the Pod. A Pod that is deleted or was replaced needs no annotations, so NotFound and Conflict are no
// errors.
func (r *Reconciler) annotate(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error {
	if len(annotations) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	_, err = r.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("annotate Pod: %w", err)
	}
	return nil
}
