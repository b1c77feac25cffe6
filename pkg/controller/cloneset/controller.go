package cloneset

import (
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
	"kruise.io/kruise/pkg/features"
	listers "kruise.io/kruise/pkg/generated/listers/apps/v1beta1"
)

// Name is the controller's in logs, events and metrics.
const Name = "cloneset-controller"

var (
	kind      = v1beta1.SchemeGroupVersion.WithKind("CloneSet")
	sets      = v1beta1.SchemeGroupVersion.WithResource("clonesets").GroupResource()
	pods      = corev1.SchemeGroupVersion.WithResource("pods").GroupResource()
	claims    = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims").GroupResource()
	revisions = appsv1.SchemeGroupVersion.WithResource("controllerrevisions").GroupResource()
)

// Reconciler brings one CloneSet at a time to its desired state.
type Reconciler struct {
	sets      listers.CloneSetLister
	pods      cache.Indexer
	claims    cache.Indexer
	revisions cache.Indexer
	nodes     corelisters.NodeLister
	guard     *consistency.Guard
	write     *writer
	settings  settings
	clock     clock.PassiveClock
	recorder  record.EventRecorder
	metrics   *controller.Metrics
	pace      *pace
	downloads *downloads

	lock sync.Mutex
	// sightings are the view's, by the CloneSet's UID. There is no entry where there is none.
	sightings map[types.UID]map[types.UID]sighting
}

func (r *Reconciler) sighted(set types.UID) map[types.UID]sighting {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.sightings[set]
}

func (r *Reconciler) keepSightings(set types.UID, sightings map[types.UID]sighting) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if len(sightings) == 0 {
		delete(r.sightings, set)
		return
	}
	r.sightings[set] = sightings
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
	stores := map[schema.GroupResource]consistency.Store{sets: setInformer.Informer().GetIndexer()}
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
	recorder := deps.Recorder(Name)
	budgets, err := newLeaver(deps)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		sets: setInformer.Lister(), pods: owned[pods].GetIndexer(), claims: owned[claims].GetIndexer(),
		revisions: owned[revisions].GetIndexer(), nodes: deps.KubeInformers.Core().V1().Nodes().Lister(),
		sightings: map[types.UID]map[types.UID]sighting{}, pace: newPace(deps.Clock),
		guard: guard, settings: settings, clock: deps.Clock, recorder: recorder, metrics: deps.Options.Metrics,
		write: &writer{kube: deps.Kube, kruise: deps.Kruise, guard: guard, recorder: recorder, budgets: budgets},
	}
	if deps.Features.Enabled(features.PreDownloadImageForInPlaceUpdate) {
		if r.downloads, err = newDownloads(deps, r.write); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ownedInformers are those of what a CloneSet controls.
func ownedInformers(deps controller.Deps) map[schema.GroupResource]cache.SharedIndexInformer {
	return map[schema.GroupResource]cache.SharedIndexInformer{
		pods:      deps.KubeInformers.Core().V1().Pods().Informer(),
		claims:    deps.KubeInformers.Core().V1().PersistentVolumeClaims().Informer(),
		revisions: deps.KubeInformers.Apps().V1().ControllerRevisions().Informer(),
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
			r.keepSightings(set.GetUID(), nil)
			r.pace.forget(set.GetUID())
		}
	}})
	if err != nil {
		return fmt.Errorf("watch for %s: %w", Name, err)
	}
	if err := c.Watch(setInformer, controller.Self); err != nil {
		return err
	}
	if r.downloads != nil {
		// What the jobs do concerns nobody here, but their cache must be full before it is asked.
		jobs := deps.KruiseInformers.Apps().V1beta1().ImagePullJobs().Informer()
		if err := c.WatchChanges(jobs, func(_, _ metav1.Object) []types.NamespacedName { return nil }); err != nil {
			return err
		}
	}
	for resource, informer := range ownedInformers(deps) {
		var filters []controller.Filter
		if resource == pods && r.settings.fewerEvents {
			filters = append(filters, worthAPass)
		}
		if err := c.Watch(informer, controller.OwnerOf(kind.GroupKind()), filters...); err != nil {
			return err
		}
	}
	return nil
}
