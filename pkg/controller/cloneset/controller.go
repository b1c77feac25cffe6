package cloneset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/reconcile"
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
	statuses  *statusWriter
	lists     *podsToDelete
	settings  settings
	downloads *controller.Downloads
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.CloneSet]) {
	core, sets := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().CloneSets()
	r := &Reconciler{nodes: core.Nodes().Lister(), settings: settingsFrom(deps, options)}
	c := controller.For(deps, Name, sets, r.Reconcile)
	c.Guards(clonesets, sets)
	r.statuses = newStatusWriter(deps.Kruise.AppsV1beta1(), c.Guard(), engine.NewPace(deps.Clock))
	r.lists = &podsToDelete{sets: deps.Kruise.AppsV1beta1(), guard: c.Guard()}
	r.engine = &engine.Engine{
		Server: engine.NewServer(deps.Kube), Guard: c.Guard(), Budget: c.Budget(), Recorder: c.Recorder(), Clock: deps.Clock,
		Caches: engine.Caches{
			Pods:   controller.OwnedIn[*corev1.Pod](c.Owns(engine.PodResource, core.Pods(), r.settings.filters()...)),
			Claims: controller.OwnedIn[*corev1.PersistentVolumeClaim](c.Owns(engine.ClaimResource, core.PersistentVolumeClaims())),
			Revisions: controller.OwnedIn[*appsv1.ControllerRevision](c.Owns(engine.RevisionResource,
				deps.KubeInformers.Apps().V1().ControllerRevisions())),
		},
	}
	r.downloads = c.Downloads(features.PreDownloadImageForInPlaceUpdate, r.engine)
	c.Forget(func(set *v1beta1.CloneSet) {
		r.engine.Forget(set.UID)
		r.statuses.Pace.Forget(set.UID)
	})
	return r, c
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
		if wait := r.statuses.Pace.PassIn(set.UID, int(set.Status.Replicas)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	return r.pass(ctx, set)
}
