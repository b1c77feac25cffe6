package cloneset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/features"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/engine"
)

// Name is the controller's in logs, events and metrics.
const Name = "cloneset-controller"

var (
	kind      = v1beta1.SchemeGroupVersion.WithKind("CloneSet")
	clonesets = v1beta1.SchemeGroupVersion.WithResource("clonesets").GroupResource()
)

// Reconciler brings one CloneSet at a time to its desired state.
type Reconciler struct {
	sets      listers.CloneSetLister
	nodes     corelisters.NodeLister
	guard     *consistency.Guard
	engine    *engine.Engine
	report    *reporter
	settings  settings
	metrics   *controller.Metrics
	pace      *engine.Pace
	downloads *downloads
}

// New makes the controller. It adds indexes to the informers, so it must be called before they start.
func New(deps controller.Deps) (*controller.Controller, error) {
	r, err := newReconciler(deps)
	if err != nil {
		return nil, err
	}
	c := controller.New(Name, deps.Options, r.Reconcile)
	return c, r.watch(c, deps)
}

func newReconciler(deps controller.Deps) (*Reconciler, error) {
	setInformer := deps.KruiseInformers.Apps().V1beta1().CloneSets()
	owned := ownedInformers(deps)
	stores := map[schema.GroupResource]consistency.Store{clonesets: setInformer.Informer().GetIndexer()}
	for resource, informer := range owned {
		if err := controller.IndexByOwner(informer); err != nil {
			return nil, fmt.Errorf("index %s by owner: %w", resource, err)
		}
		stores[resource] = informer.GetIndexer()
	}
	settings := settingsFrom(deps)
	guard := consistency.New(deps.ExpectationTimeout, deps.Clock, stores)
	if !settings.giveUpWaiting {
		guard.WaitOn()
	}
	budget, err := newBudget(deps)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		sets: setInformer.Lister(), nodes: deps.KubeInformers.Core().V1().Nodes().Lister(),
		pace: engine.NewPace(deps.Clock), guard: guard, settings: settings, metrics: deps.Options.Metrics,
		report: &reporter{sets: deps.Kruise.AppsV1beta1(), guard: guard},
		engine: &engine.Engine{
			Server: engine.NewServer(deps.Kube), Guard: guard, Budget: budget, Recorder: deps.Recorder(Name), Clock: deps.Clock,
			Caches: engine.Caches{
				Pods:      byOwner[*corev1.Pod](owned[engine.PodResource]),
				Claims:    byOwner[*corev1.PersistentVolumeClaim](owned[engine.ClaimResource]),
				Revisions: byOwner[*appsv1.ControllerRevision](owned[engine.RevisionResource]),
			},
		},
	}
	if deps.Features.Enabled(features.PreDownloadImageForInPlaceUpdate) {
		if r.downloads, err = newDownloads(deps, r.engine); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// newBudget returns nil where the gate leaves updates unbounded.
func newBudget(deps controller.Deps) (engine.Budget, error) {
	if !deps.Features.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil, nil //nolint:nilnil // Nil is an engine without budgets.
	}
	informer := deps.KruiseInformers.Policy().V1beta1().PodUnavailableBudgets().Informer()
	for name, values := range disruption.Indexers() {
		if err := controller.Index(informer, name, values); err != nil {
			return nil, fmt.Errorf("index budgets: %w", err)
		}
	}
	return disruption.NewReserver(informer.GetIndexer(), deps.Kruise.PolicyV1beta1(), deps.Clock), nil
}

func byOwner[T any](informer cache.SharedIndexInformer) engine.Owned[T] {
	indexer := informer.GetIndexer()
	return func(owner types.UID) ([]T, error) { return controller.ByOwner[T](indexer, owner) }
}

// ownedInformers are those of what a CloneSet controls.
func ownedInformers(deps controller.Deps) map[schema.GroupResource]cache.SharedIndexInformer {
	return map[schema.GroupResource]cache.SharedIndexInformer{
		engine.PodResource:      deps.KubeInformers.Core().V1().Pods().Informer(),
		engine.ClaimResource:    deps.KubeInformers.Core().V1().PersistentVolumeClaims().Informer(),
		engine.RevisionResource: deps.KubeInformers.Apps().V1().ControllerRevisions().Informer(),
	}
}

func (r *Reconciler) watch(c *controller.Controller, deps controller.Deps) error {
	setInformer := deps.KruiseInformers.Apps().V1beta1().CloneSets().Informer()
	_, err := setInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = unknown.Obj
		}
		if set, ok := obj.(metav1.Object); ok {
			r.guard.Forget(set.GetUID())
			r.engine.Forget(set.GetUID())
			r.pace.Forget(set.GetUID())
		}
	}})
	if err != nil {
		return fmt.Errorf("watch for %s: %w", Name, err)
	}
	if err := c.Watch(setInformer, controller.Self); err != nil {
		return err
	}
	if r.downloads != nil {
		// A change of a job needs no pass, but the cache of jobs must be complete before it is read.
		jobs := deps.KruiseInformers.Apps().V1beta1().ImagePullJobs().Informer()
		if err := c.WatchChanges(jobs, func(_, _ metav1.Object) []types.NamespacedName { return nil }); err != nil {
			return err
		}
	}
	for resource, informer := range ownedInformers(deps) {
		var filters []controller.Filter
		if resource == engine.PodResource && r.settings.fewerEvents {
			filters = append(filters, engine.WorthAPass)
		}
		if err := c.Watch(informer, controller.OwnerOf(kind.GroupKind()), filters...); err != nil {
			return err
		}
	}
	return nil
}
