package podunavailablebudget

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/disruption"
)

// Name is the controller's name in logs, events and metrics.
const Name = "podunavailablebudget-controller"

// hintIndex finds Pods by the budget that their annotation names, and grantIndex finds budgets by the Pods that they have
// grants for. The values of both are "namespace/name".
const (
	hintIndex  = "podBudget"
	grantIndex = "budgetGrant"
)

// Options are the options of this controller.
type Options struct {
	// Namespace is the system namespace, which has the administrator's list of custom workloads.
	Namespace string
}

// Reconciler counts budgets and labels namespaces. Its fields are set before the controller starts. pacer, departed and
// unreadable have locks of their own.
type Reconciler struct {
	kube   kubernetes.Interface
	kruise versioned.Interface
	// budgets and pods are the caches, with the indexes of this package and of disruption. selected finds Pods by a selector.
	budgets    cache.Indexer
	pods       cache.Indexer
	selected   controller.SelectedPods
	namespaces corelisters.NamespaceLister
	// workloads finds the replicas that budgets count from.
	workloads *workloads
	clock     clock.PassiveClock
	recorder  record.EventRecorder
	pacer     *controller.Pacer
	departed  *departed
	// unreadable keeps each count from repeating the same event.
	unreadable *controller.Unreadable
}

// New returns the controller. It adds indexes to the informers, so it must be called before they start. It returns an error if
// an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the Reconciler, and adds its indexes and watches to the informers.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.PodUnavailableBudget]) {
	core, budgets := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Policy().V1beta1().PodUnavailableBudgets()
	r := &Reconciler{
		kube: deps.Kube, kruise: deps.Kruise, namespaces: core.Namespaces().Lister(), workloads: newWorkloads(deps, options.Namespace),
		clock: deps.Clock, recorder: deps.Recorder(Name), pacer: controller.NewPacer(pace), departed: newDeparted(),
		unreadable: controller.NewUnreadable(deps.Recorder(Name)),
	}
	c := controller.For(deps, Name, budgets, r.Reconcile)
	// The keys of namespaces have no name, so no budget is found for them either.
	c.Absent(r.absent)
	for name, values := range disruption.Indexers() {
		r.budgets = c.Index(budgets, name, values)
	}
	c.Index(budgets, grantIndex, granted)
	r.selected = c.PodsByLabels(core.Pods())
	r.pods = c.Index(core.Pods(), hintIndex, podBudget)
	c.IndexByUnwatched(core.Pods())
	c.IndexByOwner(core.Pods())
	c.Watch(budgets, itsNamespace)
	// The filter drops updates: Pods move between budgets only when one of them is created or deleted.
	c.Watch(budgets, r.rivals, func(metav1.Object, metav1.Object) bool { return false })
	c.WatchChanges(budgets, r.movedGrants)
	c.Watch(core.Pods(), r.governingPod, worthACount)
	c.Watch(core.Namespaces(), namespaceItself, labelChanged)
	for kind, informer := range r.workloads.informers {
		c.Watch(informer, r.governingWorkload, resized)
		if through(kind) {
			c.IndexByOwner(informer)
			c.IndexByUnwatched(informer)
		}
	}
	return r, c
}

// podBudget is the index function of hintIndex.
func podBudget(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		if name := disruption.Hinted(pod.Annotations); name != "" {
			return []string{pod.Namespace + "/" + name}, nil
		}
	}
	return nil, nil
}
