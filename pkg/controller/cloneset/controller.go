package cloneset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
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
	// engine executes all writes to Pods, claims and revisions.
	engine *engine.Engine
	// nodes is read for the topology of Pods that a scale-down compares.
	nodes    corelisters.NodeLister
	sets     client.CloneSetsGetter
	statuses *statusWriter
	// lists removes names of deleted Pods from specs.
	lists *podsToDelete
	// settings are fixed when the controller is built.
	settings settings
	// downloads is nil if its feature gate is off.
	downloads *controller.Downloads
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the reconciler and its skeleton, so that tests can use the reconciler without a queue.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.CloneSet]) {
	core, sets := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().CloneSets()
	revisions := deps.KubeInformers.Apps().V1().ControllerRevisions()
	r := &Reconciler{nodes: core.Nodes().Lister(), sets: deps.Kruise.AppsV1beta1(), settings: settingsFrom(deps, options)}
	c := controller.For(deps, Name, sets, r.Reconcile)
	// The guard tracks CloneSets themselves, because a pass reads back what the last pass wrote into status and podsToDelete.
	c.Guards(clonesets, sets)
	r.statuses = newStatusWriter(deps.Kruise.AppsV1beta1(), c.Guard(), engine.NewPace(deps.Clock))
	r.lists = &podsToDelete{sets: deps.Kruise.AppsV1beta1(), guard: c.Guard()}
	r.engine = &engine.Engine{
		Server: engine.NewServer(deps.Kube), Guard: c.Guard(), Budget: c.Budget(), Recorder: c.Recorder(), Clock: deps.Clock,
		Caches: engine.Caches{
			Pods:            controller.OwnedIn[*corev1.Pod](c.Owns(engine.PodResource, core.Pods(), r.settings.filters()...)),
			Claims:          controller.OwnedIn[*corev1.PersistentVolumeClaim](c.Owns(engine.ClaimResource, core.PersistentVolumeClaims())),
			Claim:           controller.NamedIn[*corev1.PersistentVolumeClaim](core.PersistentVolumeClaims()),
			Revisions:       controller.OwnedIn[*appsv1.ControllerRevision](c.Owns(engine.RevisionResource, revisions)),
			Orphans:         c.Adopts(sets, core.Pods(), func(set *v1beta1.CloneSet) *metav1.LabelSelector { return set.Spec.Selector }),
			OrphanRevisions: c.OrphanRevisions(revisions),
		},
	}
	r.downloads = c.Downloads(features.PreDownloadImageForInPlaceUpdate, r.engine)
	// The memory of unknown outcomes and the times of passes are kept by UID, so a new CloneSet of the same name starts without them.
	c.Forget(func(set *v1beta1.CloneSet) {
		r.engine.Forget(set.UID)
		r.statuses.Pace.Forget(set.UID)
	})
	return r, c
}

// nodeLabels returns the labels of a node, or nil if the node is not in the cache. A Pod can outlive its node. Pods of an unknown
// node then share one empty topology value.
func (r *Reconciler) nodeLabels(name string) map[string]string {
	node, err := r.nodes.Get(name)
	if err != nil {
		return nil
	}
	return node.Labels
}

// Reconcile runs a pass over the CloneSet, unless its pace asks to wait. A change by the user never waits.
func (r *Reconciler) Reconcile(ctx context.Context, set *v1beta1.CloneSet) (reconcile.Result, error) {
	// The status counts the Pods of the last pass. This is exact enough for a delay, and needs no list of Pods.
	if set.Generation == set.Status.ObservedGeneration && set.DeletionTimestamp == nil {
		if wait := r.statuses.Pace.PassIn(set.UID, int(set.Status.Replicas)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	return r.pass(ctx, set)
}
