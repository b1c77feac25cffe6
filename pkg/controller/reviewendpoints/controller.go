package reviewendpoints

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Name is the controller's name in logs and metrics.
const Name = "reviewendpoints-controller"

// Key is the label in the selector of the Service. Its value is true or false.
const Key = "kruise.io/reviews"

// apiservers selects the Pods of the apiserver in the system namespace, as the chart labels them.
var apiservers = labels.SelectorFromSet(labels.Set{"app.kubernetes.io/name": "kruise", "app.kubernetes.io/component": "apiserver"})

// Options are the options of this controller.
type Options struct {
	// Namespace is the system namespace.
	Namespace string
}

// Reconciler labels the Pods of the apiserver. It has no guard: a label that is written twice is no change.
type Reconciler struct {
	Options
	kube kubernetes.Interface
	pods corelisters.PodLister
}

// New returns the controller. It returns an error if an informer rejects a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	pods := deps.KubeInformers.Core().V1().Pods()
	r := &Reconciler{Options: options, kube: deps.Kube, pods: pods.Lister()}
	c := controller.For(deps, Name, pods, r.Reconcile)
	c.When(r.isAPIServer)
	c.WatchChanges(pods, r.others)
	return c.Build()
}

func (r *Reconciler) isAPIServer(pod *corev1.Pod) bool {
	return pod.Namespace == r.Namespace && apiservers.Matches(labels.Set(pod.Labels))
}

// others returns all Pods of the apiserver when one of them becomes ready or is no longer ready, because that concerns the others.
func (r *Reconciler) others(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*corev1.Pod)
	pod, _ := after.(*corev1.Pod)
	if known := cmp.Or(old, pod); known == nil || !r.isAPIServer(known) || works(old) == works(pod) {
		return nil
	}
	pods, err := r.pods.Pods(r.Namespace).List(apiservers)
	if err != nil {
		return nil
	}
	for _, pod := range pods {
		keys = append(keys, controller.Self(pod)...)
	}
	return keys
}

// works reports whether the apiserver in the Pod serves everything. The Pods of a node that is lost are not ready.
func works(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp == nil && podstate.ConditionReady(pod)
}

// Reconcile sets the label of one Pod.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	pods, err := r.pods.Pods(r.Namespace).List(apiservers)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list the Pods of the apiserver: %w", err)
	}
	value := strconv.FormatBool(works(pod) || !slices.ContainsFunc(pods, works))
	if pod.Labels[Key] == value {
		return reconcile.Result{}, nil
	}
	after := pod.DeepCopy()
	metav1.SetMetaDataLabel(&after.ObjectMeta, Key, value)
	patch, err := podcontrol.Patch(pod, after, false)
	if err != nil {
		return reconcile.Result{}, err
	}
	_, err = r.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("set the label %s: %w", Key, err)
	}
	return reconcile.Result{}, nil
}
