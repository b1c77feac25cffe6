package cloneset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/engine"
)

// Name is the controller's name in logs, events and metrics.
const Name = "cloneset-controller"

var (
	kind      = v1beta1.SchemeGroupVersion.WithKind("CloneSet")
	clonesets = v1beta1.SchemeGroupVersion.WithResource("clonesets")
)

// Options are the options of this controller.
type Options struct {
	// ScalingExcludePreparingDelete is the cluster-wide default of a CloneSet's scaleStrategy.excludePreparingDelete.
	ScalingExcludePreparingDelete bool
}

// Reconciler reconciles CloneSets.
type Reconciler struct {
	engine    *engine.Engine
	nodes     corelisters.NodeLister
	report    *reporter
	settings  settings
	pace      *engine.Pace
	downloads *downloads
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.CloneSet]) {
	core, sets := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().CloneSets()
	r := &Reconciler{nodes: core.Nodes().Lister(), settings: settingsFrom(deps, options), pace: engine.NewPace(deps.Clock)}
	c := controller.For(deps, Name, sets, r.Reconcile)
	c.Guards(clonesets, sets)
	r.report = &reporter{sets: deps.Kruise.AppsV1beta1(), guard: c.Guard()}
	r.engine = &engine.Engine{
		Server: engine.NewServer(deps.Kube), Guard: c.Guard(), Budget: budget(deps, c), Recorder: c.Recorder(), Clock: deps.Clock,
		Caches: engine.Caches{
			Pods:      byOwner[*corev1.Pod](c.Owns(engine.PodResource, core.Pods(), r.settings.filters()...)),
			Claims:    byOwner[*corev1.PersistentVolumeClaim](c.Owns(engine.ClaimResource, core.PersistentVolumeClaims())),
			Revisions: byOwner[*appsv1.ControllerRevision](c.Owns(engine.RevisionResource, deps.KubeInformers.Apps().V1().ControllerRevisions())),
		},
	}
	if deps.Features.Enabled(features.PreDownloadImageForInPlaceUpdate) {
		jobs := c.IndexByOwner(deps.KruiseInformers.Apps().V1beta1().ImagePullJobs())
		r.downloads = &downloads{jobs: jobs, client: deps.Kruise.AppsV1beta1(), engine: r.engine}
	}
	c.Forget(func(set *v1beta1.CloneSet) {
		r.engine.Forget(set.UID)
		r.pace.Forget(set.UID)
	})
	return r, c
}

// budget returns the budget for updates, or nil if its feature gate is off.
func budget(deps controller.Deps, c *controller.Of[*v1beta1.CloneSet]) engine.Budget {
	if !deps.Features.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil
	}
	informer := deps.KruiseInformers.Policy().V1beta1().PodUnavailableBudgets()
	var budgets cache.Indexer
	for name, values := range disruption.Indexers() {
		budgets = c.Index(informer, name, values)
	}
	return disruption.NewReserver(budgets, deps.Kruise.PolicyV1beta1(), deps.Clock)
}

func byOwner[T any](indexer cache.Indexer) engine.Owned[T] {
	return func(owner types.UID) ([]T, error) { return controller.ByOwner[T](indexer, owner) }
}

func (r *Reconciler) nodeLabels(name string) map[string]string {
	node, err := r.nodes.Get(name)
	if err != nil {
		return nil
	}
	return node.Labels
}

// Reconcile runs a pass over the CloneSet, unless its pace asks to wait. A change by the user never waits.
func (r *Reconciler) Reconcile(ctx context.Context, set *v1beta1.CloneSet) (reconcile.Result, error) {
	if set.Generation == set.Status.ObservedGeneration && set.DeletionTimestamp == nil {
		if wait := r.pace.PassIn(set.UID, int(set.Status.Replicas)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	return r.pass(ctx, set)
}
