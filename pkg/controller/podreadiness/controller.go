package podreadiness

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/readiness"
)

// Name is the controller's in logs and metrics.
const Name = "podreadiness-controller"

// selfServed are the kinds whose controllers write the first condition together with what they write to a new Pod anyway.
var selfServed = map[schema.GroupKind]bool{
	{Group: "apps.kruise.io", Kind: "CloneSet"}: true,
}

// Reconciler gives one Pod at a time its condition.
type Reconciler struct {
	kube  kubernetes.Interface
	pods  corelisters.PodLister
	clock clock.PassiveClock
}

// New makes the controller.
func New(deps controller.Deps) (*controller.Controller, error) {
	pods := deps.KubeInformers.Core().V1().Pods()
	r := &Reconciler{kube: deps.Kube, pods: pods.Lister(), clock: deps.Clock}
	c := controller.New(Name, deps.Options, r.Reconcile)
	return c, c.Watch(pods.Informer(), waiting)
}

// waiting names the Pod, if there is anything to do for it.
func waiting(obj metav1.Object) []types.NamespacedName {
	if pod, ok := obj.(*corev1.Pod); !ok || !due(pod) {
		return nil
	}
	return controller.Self(obj)
}

func due(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || !readiness.Unset(pod) {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return true
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err != nil || !selfServed[schema.GroupKind{Group: gv.Group, Kind: owner.Kind}]
}

// Reconcile writes the condition for the version of the Pod that it read: another party may have added a key since.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	pod, err := r.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) || err == nil && !due(pod) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("get Pod: %w", err)
	}
	after := pod.DeepCopy()
	readiness.Begin(after, r.clock.Now())
	patch, err := podcontrol.Patch(pod, after, true)
	if err != nil {
		return controller.Result{}, err
	}
	_, err = r.kube.CoreV1().Pods(key.Namespace).Patch(ctx, key.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{}, fmt.Errorf("patch status: %w", err)
	}
	return controller.Result{}, nil
}
