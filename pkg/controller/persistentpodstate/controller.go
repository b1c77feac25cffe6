package persistentpodstate

import (
	"context"
	"errors"
	"maps"
	"time"

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
	"kruise.io/kruise/pkg/features"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/podtopology"
	"kruise.io/kruise/pkg/workloadclient"
)

// Name is the controller's name in logs, events and metrics.
const Name = "persistentpodstate-controller"

// readPace is the minimum time between two reads of a target of a custom kind. One read covers all Pods that changed since the last one.
const readPace = time.Second

var resource = v1beta1.SchemeGroupVersion.WithResource("persistentpodstates")

// Options are the options of this controller.
type Options struct {
	// Namespace is the system namespace, which has the administrator's list of custom workloads.
	Namespace string
}

// Reconciler reconciles PersistentPodStates. Its fields are set before the controller starts, and only read afterwards. listed, pacer,
// targets, unreadable and ungenerated have locks of their own.
type Reconciler struct {
	// client writes PersistentPodStates, and states finds them by their target. pods finds Pods by their owner.
	client client.PersistentPodStatesGetter
	states cache.Indexer
	pods   cache.Indexer
	nodes  corelisters.NodeLister
	// sets are the caches of the kinds whose Pods are numbered. workloads reads those of other kinds.
	sets      map[schema.GroupKind]cache.Indexer
	workloads workloadclient.Custom
	guard     engine.Guard
	recorder  record.EventRecorder
	clock     clock.PassiveClock
	// listed has the kinds that the administrator allows. pacer limits how often their workloads are read for their annotations, and
	// targets how often targets of custom kinds are read.
	listed  *controller.ListedKinds
	pacer   *controller.Pacer
	targets *controller.Pacer
	// unreadable and ungenerated keep each pass from repeating an event about a target, or about a workload to generate from.
	unreadable  *controller.Unreadable
	ungenerated *controller.Unreadable
	// pace lets one pass cover many changes of Pods, if the target is cached. Each pass writes all records.
	pace *engine.Pace
	// startOrdinal is the feature gate StatefulSetStartOrdinal.
	startOrdinal bool
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps, options Options) (*reconcile.Controller, error) {
	_, c := build(deps, options)
	return c.Build()
}

// build makes the Reconciler, and adds its indexes and watches to the informers.
func build(deps controller.Deps, options Options) (*Reconciler, *controller.Of[*v1beta1.PersistentPodState]) {
	core, states := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().PersistentPodStates()
	r := &Reconciler{
		client: deps.Kruise.AppsV1beta1(), nodes: core.Nodes().Lister(), sets: map[schema.GroupKind]cache.Indexer{},
		workloads: workloadclient.Custom{Kube: deps.Kube, Dynamic: deps.Dynamic, Mapper: deps.Mapper, Namespace: options.Namespace},
		clock:     deps.Clock, pacer: controller.NewPacer(controller.UnwatchedPeriod), targets: controller.NewPacer(readPace),
		pace: engine.NewPace(deps.Clock), startOrdinal: deps.Features.Enabled(features.StatefulSetStartOrdinal),
	}
	c := controller.For(deps, Name, states, r.Reconcile)
	r.listed = controller.NewListedKinds(deps, options.Namespace)
	// A key without a PersistentPodState can be that of a workload whose annotations ask for one.
	c.Absent(r.absent)
	c.Guards(resource, states)
	r.guard, r.recorder = c.Guard(), c.Recorder()
	r.unreadable, r.ungenerated = controller.NewUnreadable(r.recorder), controller.NewUnreadable(r.recorder)
	c.Forget(func(state *v1beta1.PersistentPodState) {
		r.unreadable.Forget(keyOf(state))
		r.targets.Forget(keyOf(state))
		r.pace.Forget(state.UID)
	})
	// The index finds the PersistentPodStates of a workload for events of its Pods.
	for name, values := range podtopology.Indexers() {
		r.states = c.Index(states, name, values)
	}
	r.pods = c.IndexByOwner(core.Pods())
	c.IndexByUnwatched(core.Pods())
	c.WatchChanges(core.Pods(), r.podChanged)
	for kind, informer := range controller.Workloads(deps, ordered) {
		r.sets[kind] = informer.Informer().GetIndexer()
		// Custom kinds are not watched: their PersistentPodStates are reconciled when a Pod changes, and once a period.
		c.WatchChanges(informer, r.workloadChanged(kind))
	}
	return r, c
}

// ordered selects the kinds whose Pods are numbered.
func ordered(kind *kinds.Kind) bool { return kind.StableNames }

// podChanged returns the PersistentPodStates for which a change of a Pod matters: of its readiness, its node, its deletion, its
// annotations or its controller. A Pod that is new to a workload of a custom kind matters for the one that the annotations of the
// workload ask for, which has the name of the workload, and need not exist. before is nil for a new Pod, and after is nil for a deleted
// one.
func (r *Reconciler) podChanged(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*corev1.Pod)
	pod, _ := after.(*corev1.Pod)
	if old != nil && pod != nil && podstate.ConditionReady(old) == podstate.ConditionReady(pod) && old.Spec.NodeName == pod.Spec.NodeName &&
		(old.DeletionTimestamp == nil) == (pod.DeletionTimestamp == nil) && maps.Equal(old.Annotations, pod.Annotations) &&
		controller.SameController(old, pod) {
		return nil
	}
	// A deleted Pod matters too: its record may go.
	if pod == nil {
		pod = old
	}
	found, _ := podtopology.OfController(r.states, pod) // The index exists.
	for _, state := range found {
		keys = append(keys, controller.Self(state)...)
	}
	if ref := customController(pod); ref != nil && (old == nil || !controller.SameController(old, pod)) {
		keys = append(keys, types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name})
	}
	return keys
}

// workloadChanged returns the PersistentPodStates of a workload of the kind, and the one that its annotations ask for. This one
// has the name of the workload, and need not exist. Changes of the status do not matter.
func (r *Reconciler) workloadChanged(kind schema.GroupKind) reconcile.Differ {
	return func(before, after metav1.Object) (keys []types.NamespacedName) {
		if before != nil && after != nil && before.GetUID() == after.GetUID() && source(before) == source(after) &&
			before.GetGeneration() == after.GetGeneration() &&
			(before.GetDeletionTimestamp() == nil) == (after.GetDeletionTimestamp() == nil) {
			return nil
		}
		object := after
		if object == nil {
			object = before
		}
		// absent creates the one of this name, and regenerate keeps it, if the annotations ask for it.
		keys = append(keys, controller.Self(object)...)
		found, _ := podtopology.Of(r.states, object.GetNamespace(), kind, object.GetName()) // The index exists.
		for _, state := range found {
			if state.Name != object.GetName() {
				keys = append(keys, controller.Self(state)...)
			}
		}
		return keys
	}
}

// Reconcile makes a pass over one PersistentPodState. If the controllers may not read its target, an event says so, and the records
// stay: only a user can change this.
func (r *Reconciler) Reconcile(ctx context.Context, state *v1beta1.PersistentPodState) (result reconcile.Result, err error) {
	// Records need no cleanup: they are deleted with the object.
	if state.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	custom := r.sets[targetKind(state)] == nil
	if custom {
		if early := r.targets.Wait(keyOf(state), r.clock.Now()); early > 0 {
			return reconcile.Result{RequeueAfter: early, KeepFailures: true}, nil
		}
	} else if state.Status.ObservedGeneration == state.Generation {
		if wait := r.pace.PassIn(state.UID, len(state.Status.PodStates)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait, KeepFailures: true}, nil
		}
	}
	defer r.pace.Passed(state.UID, len(state.Status.PodStates))
	err = r.pass(ctx, state)
	forbidden, is := errors.AsType[*workloadclient.ForbiddenError](err)
	if err != nil && !is {
		return reconcile.Result{}, err
	}
	r.unreadable.Tell(keyOf(state), state, forbidden.Unread(), "its Pods are not recorded")
	// Nothing says when a workload of a custom kind changes.
	if custom {
		result.RequeueAfter = controller.UnwatchedPeriod
	}
	return result, nil
}

// keyOf returns the key of a PersistentPodState.
func keyOf(state *v1beta1.PersistentPodState) types.NamespacedName {
	return types.NamespacedName{Namespace: state.Namespace, Name: state.Name}
}

// targetKind returns the kind of the target of a PersistentPodState.
func targetKind(state *v1beta1.PersistentPodState) schema.GroupKind {
	return schema.FromAPIVersionAndKind(state.Spec.TargetRef.APIVersion, state.Spec.TargetRef.Kind).GroupKind()
}

// pass keeps a generated PersistentPodState as its workload says, and records the Pods of the target. The spec comes first, because
// the records depend on its keys.
func (r *Reconciler) pass(ctx context.Context, state *v1beta1.PersistentPodState) error {
	kind := targetKind(state)
	workload, err := r.workload(ctx, kind, state.Namespace, state.Spec.TargetRef.Name)
	if err != nil {
		return err
	}
	state, err = r.regenerate(ctx, state, workload)
	if err != nil || state == nil {
		return err
	}
	found, err := r.target(ctx, kind, workload)
	if err != nil {
		return err
	}
	pods, err := r.podsOf(found)
	if err != nil {
		return err
	}
	// The event is about the records of the stored status, which admission used.
	r.warn(state, pods)
	// After a conflict, the records are merged into those of the stored object.
	stored, err := controller.UpdateStatus(ctx, r.client.PersistentPodStates(state.Namespace), state,
		func(fresh *v1beta1.PersistentPodState) error {
			// The records are those of the spec of fresh, also after a conflict.
			fresh.Status.ObservedGeneration = fresh.Generation
			fresh.Status.PodStates = r.records(fresh, found, pods)
			return nil
		})
	if stored != nil && stored.ResourceVersion != state.ResourceVersion {
		r.guard.Wrote(state.UID, resource.GroupResource(), stored.ResourceVersion)
	}
	return err
}
