package podunavailablebudget

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/disruption"
)

// Name is the controller's in logs, events and metrics.
const Name = "podunavailablebudget-controller"

const (
	labelIndex = "podLabels"
	hintIndex  = "podBudget"
)

// Reconciler counts one budget at a time, and labels one namespace at a time.
type Reconciler struct {
	kube       kubernetes.Interface
	kruise     versioned.Interface
	budgets    cache.Indexer
	pods       cache.Indexer
	namespaces corelisters.NamespaceLister
	workloads  *workloads
	clock      clock.PassiveClock
	recorder   record.EventRecorder
	pacer      *pacer
}

// New makes the controller. It adds indexes to the informers, so it must be called before they start. Without a gate that
// lets budgets be enforced it watches nothing.
func New(deps controller.Deps) (*controller.Controller, error) {
	if !deps.Features.Enabled(features.PodUnavailableBudgetDeleteGate) && !deps.Features.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return controller.New(Name, deps.Options, func(context.Context, types.NamespacedName) (controller.Result, error) {
			return controller.Result{}, nil
		}), nil
	}
	r, err := newReconciler(deps)
	if err != nil {
		return nil, err
	}
	c := controller.New(Name, deps.Options, r.Reconcile)
	return c, r.watch(c, deps)
}

func newReconciler(deps controller.Deps) (*Reconciler, error) {
	budgets := deps.KruiseInformers.Policy().V1beta1().PodUnavailableBudgets().Informer()
	pods := deps.KubeInformers.Core().V1().Pods().Informer()
	for name, values := range disruption.Indexers() {
		if err := controller.Index(budgets, name, values); err != nil {
			return nil, fmt.Errorf("index budgets: %w", err)
		}
	}
	if err := pods.AddIndexers(cache.Indexers{labelIndex: podLabels, hintIndex: podBudget}); err != nil {
		return nil, fmt.Errorf("index Pods: %w", err)
	}
	workloads, err := newWorkloads(deps)
	if err != nil {
		return nil, err
	}
	return &Reconciler{
		kube: deps.Kube, kruise: deps.Kruise, budgets: budgets.GetIndexer(), pods: pods.GetIndexer(),
		namespaces: deps.KubeInformers.Core().V1().Namespaces().Lister(),
		workloads:  workloads, clock: deps.Clock, recorder: deps.Recorder(Name), pacer: newPacer(pace),
	}, nil
}

func podLabels(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		return disruption.LabelValues(pod.Namespace, pod.Labels), nil
	}
	return nil, nil
}

func podBudget(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		if name := disruption.Hinted(pod.Annotations); name != "" {
			return []string{pod.Namespace + "/" + name}, nil
		}
	}
	return nil, nil
}
