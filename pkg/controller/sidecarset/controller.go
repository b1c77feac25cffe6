package sidecarset

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/features"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// Name is the controller's name in logs, events and metrics.
const Name = "sidecarset-controller"

const (
	// podIndex finds the Pods of a SidecarSet by its name.
	podIndex = "podSidecarSets"
	// longestRetry limits the delay after a failure, so that upgrades go on soon after a budget has room. A budget that refuses a Pod
	// is a failure here, and nothing else triggers a pass when the budget allows more.
	longestRetry = 5 * time.Second
)

// kind is what the owner references of revisions name, and resource is what the guard waits for.
var (
	kind     = v1beta1.SchemeGroupVersion.WithKind("SidecarSet")
	resource = v1beta1.SchemeGroupVersion.WithResource("sidecarsets")
)

// Options are the options of this controller.
type Options struct {
	// Namespace is the system namespace, which has the revisions of all SidecarSets: a SidecarSet has no namespace of its own.
	Namespace string
	// Metrics may be nil.
	Metrics *Metrics
}

// Reconciler reconciles SidecarSets. Its fields are set before the controller starts. lost, looks and pace have locks of
// their own.
type Reconciler struct {
	Options
	// server writes Pods and revisions, and client writes statuses.
	server engine.Server
	client client.SidecarSetInterface
	// sets are the SidecarSets, and pods the Pods by the SidecarSets that they record.
	sets, pods cache.Indexer
	// selectedPods lists the Pods of a namespace by their labels.
	selectedPods controller.SelectedPods
	// revisions lists the revisions of a SidecarSet. guard stops a pass whose caches do not show the writes of the last one.
	revisions  func(owner types.UID) ([]*appsv1.ControllerRevision, error)
	namespaces corelisters.NamespaceLister
	guard      engine.Guard
	recorder   record.EventRecorder
	clock      clock.PassiveClock
	pace       *engine.Pace
	// injects is false if admission does not inject at all.
	injects bool
	lost    lost
	looks   looks
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the Reconciler, and adds its indexes and watches to the informers.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.SidecarSet]) {
	if deps.Options.MaxDelay == 0 || deps.Options.MaxDelay > longestRetry {
		deps.Options.MaxDelay = longestRetry
	}
	core, sets := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().SidecarSets()
	r := &Reconciler{
		Options: options, server: engine.NewServer(deps.Kube), client: deps.Kruise.AppsV1beta1().SidecarSets(),
		namespaces: core.Namespaces().Lister(), recorder: deps.Recorder(Name), clock: deps.Clock, pace: engine.NewPace(deps.Clock),
		injects: deps.Features.Enabled(features.PodWebhook),
	}
	c := controller.For(deps, Name, sets, r.Reconcile)
	c.Guards(resource, sets)
	c.Guards(engine.PodResource, core.Pods())
	r.guard = c.Guard()
	// These indexes find the SidecarSets of a Pod. That of the Pods finds the other direction.
	for name, values := range sidecar.Indexers() {
		r.sets = c.Index(sets, name, values)
	}
	r.pods = c.Index(core.Pods(), podIndex, podSets)
	r.selectedPods = c.PodsByLabels(core.Pods())
	// Only the revisions of the system namespace are watched.
	revisions := deps.KubeInformers.InNamespace(options.Namespace).Apps().V1().ControllerRevisions()
	c.Guards(engine.RevisionResource, revisions)
	c.Watch(revisions, controller.ClusterOwnerOf(kind.GroupKind()))
	owned := c.IndexByClusterOwner(revisions)
	r.revisions = func(owner types.UID) ([]*appsv1.ControllerRevision, error) {
		return controller.ByClusterOwner[*appsv1.ControllerRevision](owned, owner)
	}
	c.WatchChanges(core.Pods(), r.changedPod)
	c.WatchChanges(core.Namespaces(), r.changedNamespace)
	c.Forget(r.forget)
	return r, c
}

// forget drops what is kept in memory for a deleted SidecarSet.
func (r *Reconciler) forget(set *v1beta1.SidecarSet) {
	r.pace.Forget(set.UID)
	r.lost.forget(set.UID)
	r.looks.forget(set.UID)
	r.Metrics.forget(set.Name)
}

// podSets is the index function of podIndex. Pods that have ended or are being deleted are not in the index (case 32).
func podSets(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && podstate.Active(pod) {
		return sidecar.InjectedSets(pod), nil
	}
	return nil, nil
}
