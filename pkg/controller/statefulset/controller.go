package statefulset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
)

// Name is the controller's name in logs, events and metrics.
const Name = "statefulset-controller"

var (
	kind         = v1beta1.SchemeGroupVersion.WithKind("StatefulSet")
	statefulsets = v1beta1.SchemeGroupVersion.WithResource("statefulsets")
)

// Reconciler reconciles StatefulSets.
type Reconciler struct {
	// engine executes all writes to Pods, claims and revisions.
	engine *engine.Engine
	// sets reads the set from the server before it adopts.
	sets     client.StatefulSetsGetter
	statuses *statusWriter
	settings settings
	// failures delays the deletion of Pods that fail again and again.
	failures *failures
	// downloads is nil if its feature gate is off.
	downloads *controller.Downloads
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	_, c := build(deps)
	return c.Build()
}

// build makes the reconciler and its skeleton, so that tests can use the reconciler without a queue.
func build(deps controller.Deps) (*Reconciler, *controller.Of[*v1beta1.StatefulSet]) {
	core, sets := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().StatefulSets()
	revisions := deps.KubeInformers.Apps().V1().ControllerRevisions()
	r := &Reconciler{settings: settingsFrom(deps), failures: newFailures(deps.Clock)}
	c := controller.For(deps, Name, sets, r.Reconcile)
	c.Guards(statefulsets, sets)
	// Claims are guarded but not owned: claims have no controller, and setsOfClaim finds their set by name.
	c.Guards(engine.ClaimResource, core.PersistentVolumeClaims())
	c.Watch(core.PersistentVolumeClaims(), setsOfClaim(c.Index(sets, claimIndex, claimPrefixes)))
	r.sets, r.statuses = deps.Kruise.AppsV1beta1(), newStatusWriter(deps.Kruise.AppsV1beta1(), c.Guard(), engine.NewPace(deps.Clock))
	r.engine = &engine.Engine{
		Server: engine.NewServer(deps.Kube), Guard: c.Guard(), Budget: c.Budget(), Recorder: c.Recorder(), Clock: deps.Clock,
		Caches: engine.Caches{
			Pods:      controller.OwnedIn[*corev1.Pod](c.Owns(engine.PodResource, core.Pods())),
			Revisions: controller.OwnedIn[*appsv1.ControllerRevision](c.Owns(engine.RevisionResource, revisions)),
			// Claims are read by name, not by owner: under the default policy they have none.
			Claim:           controller.NamedIn[*corev1.PersistentVolumeClaim](core.PersistentVolumeClaims()),
			Orphans:         c.Adopts(sets, core.Pods(), func(set *v1beta1.StatefulSet) *metav1.LabelSelector { return set.Spec.Selector }),
			OrphanRevisions: c.OrphanRevisions(revisions),
		},
	}
	r.downloads = c.Downloads(features.PreDownloadImageForInPlaceUpdate, r.engine)
	c.Forget(func(set *v1beta1.StatefulSet) {
		r.engine.Forget(set.UID)
		r.statuses.Pace.Forget(set.UID)
		r.statuses.Rewordings.Forget(set.UID)
		r.failures.forget(set.UID)
	})
	return r, c
}

// Reconcile runs a pass over the StatefulSet, unless its pace asks to wait. A change by the user never waits.
func (r *Reconciler) Reconcile(ctx context.Context, set *v1beta1.StatefulSet) (reconcile.Result, error) {
	// The status counts the Pods of the last pass. This is exact enough for a delay.
	if set.Generation == set.Status.ObservedGeneration && set.DeletionTimestamp == nil {
		if wait := r.statuses.Pace.PassIn(set.UID, int(set.Status.Replicas)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	return r.pass(ctx, set)
}
