package cloneset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
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
}

// New makes the controller. It adds indexes to the informers, so it must be called before they start.
func New(deps controller.Deps) (*controller.Controller, error) {
	setInformer := deps.KruiseInformers.Apps().V1beta1().CloneSets()
	podInformer := deps.KubeInformers.Core().V1().Pods().Informer()
	claimInformer := deps.KubeInformers.Core().V1().PersistentVolumeClaims().Informer()
	revisionInformer := deps.KubeInformers.Apps().V1().ControllerRevisions().Informer()
	for _, informer := range []cache.SharedIndexInformer{podInformer, claimInformer, revisionInformer} {
		if err := controller.IndexByOwner(informer); err != nil {
			return nil, fmt.Errorf("index by owner: %w", err)
		}
	}
	guard := consistency.New(deps.ExpectationTimeout, deps.Clock, map[schema.GroupResource]consistency.Store{
		sets: setInformer.Informer().GetIndexer(), pods: podInformer.GetIndexer(),
		claims: claimInformer.GetIndexer(), revisions: revisionInformer.GetIndexer(),
	})
	recorder := deps.Recorder(Name)
	r := &Reconciler{
		sets: setInformer.Lister(), pods: podInformer.GetIndexer(), claims: claimInformer.GetIndexer(), revisions: revisionInformer.GetIndexer(),
		nodes: deps.KubeInformers.Core().V1().Nodes().Lister(), guard: guard, settings: settingsFrom(deps), clock: deps.Clock,
		recorder: recorder, metrics: deps.Options.Metrics,
		write: &writer{kube: deps.Kube, kruise: deps.Kruise, guard: guard, recorder: recorder, now: deps.Clock.Now},
	}
	c := controller.New(Name, deps.Options, r.Reconcile)
	return c, r.watch(c, setInformer.Informer(), podInformer, claimInformer, revisionInformer)
}

func (r *Reconciler) watch(c *controller.Controller, setInformer cache.SharedIndexInformer, owned ...cache.SharedIndexInformer) error {
	_, err := setInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = unknown.Obj
		}
		if set, ok := obj.(metav1.Object); ok {
			r.guard.Forget(set.GetUID())
		}
	}})
	if err != nil {
		return fmt.Errorf("watch for %s: %w", Name, err)
	}
	if err := c.Watch(setInformer, controller.Self); err != nil {
		return err
	}
	for _, informer := range owned {
		if err := c.Watch(informer, controller.OwnerOf(kind.GroupKind())); err != nil {
			return err
		}
	}
	return nil
}
