package persistentpodstate

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
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

var resource = v1beta1.SchemeGroupVersion.WithResource("persistentpodstates")

// Reconciler reconciles PersistentPodStates. Its fields are set before the controller starts, and only read afterwards.
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
	// unreadable prevents that the same event is sent in each pass. It has a lock of its own.
	unreadable *controller.Unreadable
}

// New returns the controller. It returns an error if an informer rejects an index or a handler.
func New(deps controller.Deps) (*reconcile.Controller, error) {
	_, c := build(deps)
	return c.Build()
}

// build makes the Reconciler, and adds its indexes and watches to the informers.
func build(deps controller.Deps) (*Reconciler, *controller.Of[*v1beta1.PersistentPodState]) {
	core, states := deps.KubeInformers.Core().V1(), deps.KruiseInformers.Apps().V1beta1().PersistentPodStates()
	r := &Reconciler{
		client: deps.Kruise.AppsV1beta1(), nodes: core.Nodes().Lister(), sets: map[schema.GroupKind]cache.Indexer{},
		workloads: workloadclient.Custom{Kube: deps.Kube, Dynamic: deps.Dynamic, Mapper: deps.Mapper},
	}
	c := controller.For(deps, Name, states, r.Reconcile)
	// A key without a PersistentPodState can be that of a workload whose annotations ask for one.
	c.Absent(r.absent)
	c.Guards(resource, states)
	r.guard, r.recorder = c.Guard(), c.Recorder()
	r.unreadable = controller.NewUnreadable(r.recorder)
	c.Forget(func(state *v1beta1.PersistentPodState) { r.unreadable.Forget(keyOf(state)) })
	// The index finds the PersistentPodStates of a workload for events of its Pods.
	for name, values := range podtopology.Indexers() {
		r.states = c.Index(states, name, values)
	}
	r.pods = c.IndexByOwner(core.Pods())
	c.WatchChanges(core.Pods(), r.podChanged)
	for kind, informer := range controller.Workloads(deps, ordered) {
		r.sets[kind] = informer.Informer().GetIndexer()
		// Custom kinds are not watched: their PersistentPodStates are reconciled when a Pod changes.
		c.WatchChanges(informer, r.workloadChanged(kind))
	}
	return r, c
}

// ordered selects the kinds whose Pods are numbered.
func ordered(kind *kinds.Kind) bool { return kind.StableNames }

// podChanged returns the PersistentPodStates for which a change of a Pod matters: of its readiness, its node, its deletion or
// its annotations. before is nil for a new Pod, and after is nil for a deleted one.
func (r *Reconciler) podChanged(before, after metav1.Object) (keys []types.NamespacedName) {
	old, _ := before.(*corev1.Pod)
	pod, _ := after.(*corev1.Pod)
	if old != nil && pod != nil && podstate.ConditionReady(old) == podstate.ConditionReady(pod) && old.Spec.NodeName == pod.Spec.NodeName &&
		(old.DeletionTimestamp == nil) == (pod.DeletionTimestamp == nil) && maps.Equal(old.Annotations, pod.Annotations) {
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
	err = r.pass(ctx, state)
	forbidden, is := errors.AsType[*workloadclient.ForbiddenError](err)
	if err != nil && !is {
		return reconcile.Result{}, err
	}
	r.unreadable.Tell(keyOf(state), state, forbidden.Unread(), "its Pods are not recorded")
	// Nothing says when a workload of a custom kind changes.
	if r.sets[targetKind(state)] == nil {
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
	state, err := r.regenerate(ctx, state)
	if err != nil || state == nil {
		return err
	}
	found, err := r.target(ctx, state)
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

// target is the workload of a PersistentPodState, as far as a pass needs it.
type target struct {
	// uid finds the Pods that the workload owns.
	uid types.UID
	// ordinals are those in range. all is true if they are not known, so that every ordinal counts as in range.
	ordinals map[int]bool
	all      bool
}

// target returns the workload of a PersistentPodState, or nil if it does not exist or is being deleted. Its records go then
// (cases 7 and 14 of docs/contract/persistentpodstate.md).
func (r *Reconciler) target(ctx context.Context, state *v1beta1.PersistentPodState) (*target, error) {
	ref, kind := &state.Spec.TargetRef, targetKind(state)
	// The caches have both kinds of StatefulSets.
	if cached := r.sets[kind]; cached != nil {
		item, found, err := cached.GetByKey(state.Namespace + "/" + ref.Name)
		object, ok := item.(kinds.Object)
		if err != nil || !found || !ok || object.GetDeletionTimestamp() != nil {
			return nil, err
		}
		return known(object), nil
	}
	return r.custom(ctx, kind, state.Namespace, ref.Name)
}

// custom reads a workload of a kind that the administrator allows, and its number of Pods from the scale subresource. It
// returns nil without an error if the workload does not exist or is being deleted. A kind or a scale that cannot be read is an
// error: without the number, the records of Pods that were scaled in could not be told from others.
func (r *Reconciler) custom(ctx context.Context, kind schema.GroupKind, namespace, name string) (*target, error) {
	object, err := r.workloads.Get(ctx, kind, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case object.GetDeletionTimestamp() != nil:
		return nil, nil
	}
	scale, err := r.workloads.Get(ctx, kind, namespace, name, "scale")
	if err != nil {
		return nil, err
	}
	replicas, found, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil || !found {
		return nil, errors.Join(fmt.Errorf("the scale of %s %s has no spec.replicas", kind, name), err)
	}
	// Custom kinds have no reserved ordinals, and begin with 0.
	return &target{uid: object.GetUID(), ordinals: inRange(int(replicas), 0, nil)}, nil
}

// podsOf returns the Pods of a target. A nil target has none.
func (r *Reconciler) podsOf(found *target) ([]*corev1.Pod, error) {
	if found == nil {
		return nil, nil
	}
	return controller.ByOwner[*corev1.Pod](r.pods, found.uid)
}
