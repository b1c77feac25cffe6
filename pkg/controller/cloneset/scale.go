package cloneset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordering"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/readiness"
	"kruise.io/kruise/pkg/workload/rollout"
)

// scaling is what one pass does to the number of Pods. At most one of its lists of changes, its creations and its deletions
// has anything in it, except that what a hook holds is held while others are deleted.
type scaling struct {
	// createOld and createNew are how many Pods to create at the current and at the update revision.
	createOld, createNew int
	// limit is how many may be created now when that is fewer than are missing, else -1.
	limit  int
	delete []*corev1.Pod
	// changes bring Pods that are wanted again back, and hold Pods before their deletion.
	changes []change
}

func (s *scaling) creates() bool { return s.createOld+s.createNew > 0 }

func (s *scaling) acts() bool { return s.creates() || len(s.delete)+len(s.changes) > 0 }

// scale decides how many Pods to create, or which to delete. Where none can be created, what is missing already counts as
// unavailable, and the user's bound decides how many of those that serve may go.
func (v *view) scale(mayCreate bool) (scaling, error) {
	plan := scaling{limit: -1}
	if plan.changes = v.regret(); len(plan.changes) > 0 {
		return plan, nil
	}
	diff, err := v.diff()
	if err != nil {
		return plan, err
	}
	if diff.Up > diff.UpLimit {
		plan.limit = diff.UpLimit
	}
	if create := diff.UpLimit - v.returning(); create > 0 && mayCreate {
		plan.createOld = min(diff.UpOld, create)
		plan.createNew = create - plan.createOld
		return plan, nil
	}
	limit := diff.DeleteReadyLimit
	if diff.Up > 0 && mayCreate {
		// Pods are missing already: only what does not serve may go.
		limit = 0
	}
	v.deleteHeld(&plan)
	limit = v.deleteSome(&plan, v.picked(), limit)
	v.deleteSome(&plan, v.surplus(diff), limit)
	if !plan.acts() {
		v.deleteStray(&plan)
	}
	return plan, nil
}

// deleteStray makes room where Pods that do not serve fill the surge: those of a revision that nobody wants any more, beyond
// the replicas. Without it a Pod picked for deletion would wait for a surge Pod, and that for room, for ever.
func (v *view) deleteStray(plan *scaling) {
	room := len(v.pods) - v.replicas()
	for _, pod := range v.pods {
		if room > 0 && !v.available(pod) && !preparingDelete(pod) && v.stray(pod) {
			v.deleteOne(plan, pod)
			room--
		}
	}
}

// stray tells whether a Pod is at a revision that nobody wants any more.
func (v *view) stray(pod *corev1.Pod) bool { return !at(pod, v.update) && !at(pod, v.current) }

// regret takes back the deletion of Pods that a hook holds, when they are wanted again. A Pod that was drained meanwhile is
// not taken back, nor one that would have to make room again.
func (v *view) regret() (changes []change) {
	if drains(v.set.Spec.Lifecycle) {
		return nil
	}
	var held []*corev1.Pod
	leaving := 0
	for _, pod := range v.pods {
		specified := v.specified(pod)
		if specified || preparingDelete(pod) {
			leaving++
		}
		if preparingDelete(pod) && !specified && (!v.stray(pod) || len(v.pods) <= v.replicas()) {
			held = append(held, pod)
		}
	}
	wanted := v.replicas() - len(v.pods) + leaving
	for _, pod := range held[:max(0, min(wanted, len(held)))] {
		changes = append(changes, v.move(pod, pub.LifecycleStatePreparingNormal))
	}
	return changes
}

func drains(hooks *pub.Lifecycle) bool {
	return hooks != nil && (hooks.PreDelete != nil && hooks.PreDelete.MarkPodNotReady ||
		hooks.InPlaceUpdate != nil && hooks.InPlaceUpdate.MarkPodNotReady)
}

// move brings a Pod into a state. A hook that drains it does so in the same write, which then goes to the status.
func (v *view) move(pod *corev1.Pod, state lifecycle.State) change {
	after := pod.DeepCopy()
	lifecycle.Set(after, state, v.now)
	drained := readiness.Drain(v.set.Spec.Lifecycle, after, v.now)
	return change{before: pod, after: after, status: drained, exact: drained}
}

// deleteHeld deletes the Pods that were held before their deletion and no longer are.
func (v *view) deleteHeld(plan *scaling) {
	for _, pod := range v.pods {
		if preparingDelete(pod) {
			v.deleteOne(plan, pod)
		}
	}
}

func (v *view) deleteOne(plan *scaling, pod *corev1.Pod) {
	hooks := v.set.Spec.Lifecycle
	switch {
	case hooks == nil || !lifecycle.Hooked(hooks.PreDelete, pod):
		plan.delete = append(plan.delete, pod)
	case !preparingDelete(pod):
		plan.changes = append(plan.changes, v.move(pod, pub.LifecycleStatePreparingDelete))
	}
}

// deleteSome deletes each of the Pods that does not serve, and of the others as many as the limit allows.
func (v *view) deleteSome(plan *scaling, pods []*corev1.Pod, limit int) (rest int) {
	ready := make([]bool, len(pods))
	for i, pod := range pods {
		ready[i] = podstate.Available(pod, 0, v.now)
	}
	chosen, rest := rollout.SelectDeletes(ready, limit)
	for _, i := range chosen {
		v.deleteOne(plan, pods[i])
	}
	return rest
}

// picked are the Pods that somebody, or a recreating update, chose for deletion.
func (v *view) picked() (pods []*corev1.Pod) {
	for _, pod := range v.pods {
		if v.specified(pod) && !preparingDelete(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// surplus are the Pods beyond the replicas, those that cost least first.
func (v *view) surplus(diff rollout.Diff) []*corev1.Pod {
	if diff.Down <= 0 {
		return nil
	}
	var older, preparing, newer []*corev1.Pod
	for _, pod := range v.pods {
		switch {
		case v.specified(pod) || preparingDelete(pod):
		case v.updated(pod):
			newer = append(newer, pod)
		case v.preparingUpdateAsUpdate && lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate:
			preparing = append(preparing, pod)
		default:
			older = append(older, pod)
		}
	}
	fromOld := min(diff.DownOld, diff.Down, len(older))
	// What counts as updated and is not yet goes first: an updated Pod would have to be made again.
	fromPreparing := min(diff.Down-fromOld, len(preparing))
	return slices.Concat(v.cheapest(older, fromOld), v.cheapest(preparing, fromPreparing),
		v.cheapest(newer, diff.Down-fromOld-fromPreparing))
}

func (v *view) cheapest(pods []*corev1.Pod, n int) []*corev1.Pod {
	if n >= len(pods) {
		return pods
	}
	order := ordering.Deletion{
		MinReadySeconds: v.set.Spec.MinReadySeconds, Now: v.now, TopologyKeys: v.topologyKeys(), NodeLabels: v.nodeLabels,
	}
	return order.ForDeletion(pods)[:n]
}

func (v *view) topologyKeys() (keys []string) {
	for _, constraint := range v.set.Spec.Template.Spec.TopologySpreadConstraints {
		if !slices.Contains(keys, constraint.TopologyKey) {
			keys = append(keys, constraint.TopologyKey)
		}
	}
	return keys
}
