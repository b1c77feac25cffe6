package daemonset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/nodefit"

	corelisters "k8s.io/client-go/listers/core/v1"
)

// Name is the controller's name in logs, events and metrics.
const Name = "daemonset-controller"

var (
	kind       = v1beta1.SchemeGroupVersion.WithKind("DaemonSet")
	daemonsets = v1beta1.SchemeGroupVersion.WithResource("daemonsets")
)

// Options are the options of this controller.
type Options struct {
	// BindPods sets spec.nodeName of new Pods. Otherwise the scheduler binds them to the node that their affinity names.
	BindPods bool
}

// Reconciler reconciles DaemonSets.
type Reconciler struct {
	// engine executes all writes to Pods and revisions.
	engine *engine.Engine
	// settings are fixed when the controller is built.
	settings settings
	// nodes finds a node that an existing Pod names, even if the DaemonSet no longer selects it.
	nodes corelisters.NodeLister
	// nodesFor lists the nodes that a Pod may select, through an index.
	nodesFor func(*nodefit.Requirements) ([]*corev1.Node, error)
	statuses *statusWriter
	// failures delays the deletion of Pods that fail again and again.
	failures *backoff
	// downloads is nil if its feature gate is off.
	downloads *controller.Downloads
	// fresh reads the DaemonSet from the server before it adopts Pods.
	fresh func(ctx context.Context, set *v1beta1.DaemonSet) (metav1.Object, error)
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the reconciler and its skeleton, so that tests can use the reconciler without a queue.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.DaemonSet]) {
	core, sets := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().DaemonSets()
	client := deps.Kruise.AppsV1beta1()
	r := &Reconciler{
		settings: settingsFrom(deps, options), nodes: core.Nodes().Lister(), failures: newBackoff(deps.Clock),
		fresh: func(ctx context.Context, set *v1beta1.DaemonSet) (metav1.Object, error) {
			return client.DaemonSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
	}
	c := controller.For(deps, Name, sets, r.Reconcile)
	c.Guards(daemonsets, sets)
	r.statuses = newStatusWriter(client, c.Guard(), engine.NewPace(deps.Clock))
	revisions := deps.KubeInformers.Apps().V1().ControllerRevisions()
	r.engine = &engine.Engine{
		Server: engine.NewServer(deps.Kube), Guard: c.Guard(), Budget: c.Budget(), Recorder: c.Recorder(), Clock: deps.Clock,
		Caches: engine.Caches{
			Pods:      controller.OwnedIn[*corev1.Pod](c.Owns(engine.PodResource, core.Pods())),
			Pod:       controller.NamedIn[*corev1.Pod](core.Pods()),
			Revisions: controller.OwnedIn[*appsv1.ControllerRevision](c.Owns(engine.RevisionResource, revisions)),
			// A DaemonSet that was created again adopts the Pods and revisions of the one before, as in Kubernetes.
			Orphans:         c.Adopts(sets, core.Pods(), func(set *v1beta1.DaemonSet) *metav1.LabelSelector { return set.Spec.Selector }),
			OrphanRevisions: c.OrphanRevisions(revisions),
		},
	}
	r.downloads = c.Downloads(features.PreDownloadImageForDaemonSetUpdate, r.engine)
	// Events of nodes reconcile only the DaemonSets whose answer for that node changes.
	r.nodesFor = c.OnNodes(sets, core.Nodes(), requires, concerns)
	c.Forget(func(set *v1beta1.DaemonSet) {
		r.engine.Forget(set.UID)
		r.statuses.Pace.Forget(set.UID)
		r.failures.forget(set.UID)
	})
	return r, c
}

// Reconcile runs a pass over the DaemonSet, unless its pace asks to wait. A change by the user never waits.
func (r *Reconciler) Reconcile(ctx context.Context, set *v1beta1.DaemonSet) (reconcile.Result, error) {
	if set.DeletionTimestamp != nil {
		// The garbage collector deletes the Pods.
		return reconcile.Result{}, nil
	}
	// Until a pass over a new generation has succeeded, the observed generation is the old one, so the DaemonSet does not wait here.
	// The retry delay of the queue limits its passes.
	if set.Generation == set.Status.ObservedGeneration {
		if wait := r.statuses.Pace.PassIn(set.UID, int(set.Status.DesiredNumberScheduled)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	return r.pass(ctx, set)
}
