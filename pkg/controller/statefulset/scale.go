package statefulset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordinals"
	"kruise.io/kruise/pkg/workload/podcontrol"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/rollout"
)

// walk is the way through the slots, in ascending order. It becomes one stage of the plan.
type walk struct {
	stage engine.Stage
	// budget is how many more Pods may be unavailable. The way ends when it is used up.
	budget int
	// blocked is true if the way ended at a Pod that the order waits for. missing is true if a slot in range has no Pod.
	blocked, missing bool
	// blocker is the index of the slot that the order waits for, or -1.
	blocker  int
	failures []error
}

func (w *walk) err() error { return errors.Join(w.failures...) }

// walk decides about the Pods in range. Slots are filled in ascending order. With OrderedReady, the walk ends at the first Pod that
// is not available. With Parallel, it ends when the budget is used up.
func (p *planner) walk() *walk {
	w := &walk{stage: engine.Stage{Aim: engine.Scale}, budget: math.MaxInt, blocker: -1}
	for i := range p.slots {
		w.missing = w.missing || p.slots[i].pod == nil && !p.slots[i].adopting
	}
	if err := p.limitScale(w); err != nil {
		w.failures = append(w.failures, err)
		// An invalid limit must not mean that there is no limit.
		w.blocked = true
		return w
	}
	for i := range p.slots {
		if w.blocked || w.budget <= 0 {
			p.goOnDeleting(w, i)
			continue
		}
		if p.fill(w, i) {
			continue
		}
		// With a limited budget, a Pod that is not available uses up a part of it, whatever the reason is.
		w.budget--
		if w.blocked = p.ordered; w.blocked {
			w.blocker = i
		}
	}
	return w
}

// goOnDeleting deletes the Pod of a slot that the walk does not reach, if its hook held it for its deletion and has released it. A Pod
// whose deletion has begun waits for no other one.
func (p *planner) goOnDeleting(w *walk, i int) {
	pod := p.slots[i].pod
	if pod != nil && pod.DeletionTimestamp == nil && podstate.Active(pod) && engine.PreparingDelete(pod) && !p.returns(i) {
		p.ReplacePod(&w.stage, pod)
	}
}

// limitScale sets the budget from the scale strategy. With OrderedReady there is no such limit: the order already waits for each Pod.
// The limit is at least 1, so that a small percentage does not stop everything.
func (p *planner) limitScale(w *walk) error {
	strategy := p.set.Spec.ScaleStrategy
	if p.ordered || strategy == nil || strategy.MaxUnavailable == nil {
		return nil
	}
	limit, err := rollout.MaxUnavailable(strategy.MaxUnavailable, p.Replicas)
	if err != nil {
		return fmt.Errorf("scaleStrategy.maxUnavailable: %w", err)
	}
	w.budget = max(1, limit)
	return nil
}

// fill moves a slot one step towards an available Pod. It returns whether the Pod is available. A slot that is filled in this pass is
// not available yet.
func (p *planner) fill(w *walk, i int) (available bool) {
	slot := &p.slots[i]
	pod := slot.pod
	switch {
	// Its Pod becomes ours in this pass, and the next pass sees its state.
	case slot.adopting:
	// The slot is empty, so the name is free.
	case pod == nil:
		p.create(w, i)
	// The name is free only when the Pod is gone.
	case pod.DeletionTimestamp != nil:
	case !podstate.Active(pod):
		p.replaceFinished(w, slot)
	case engine.PreparingDelete(pod) && p.returns(i):
		w.stage.Changes = append(w.stage.Changes, p.Move(pod, pub.LifecycleStatePreparingNormal))
	case engine.PreparingDelete(pod):
		p.ReplacePod(&w.stage, pod)
	default:
		// The labels and claims of a Pod do not depend on whether it is available.
		if pod.Status.Phase == corev1.PodPending {
			p.createMissingClaims(w, slot)
		}
		if change := p.identify(pod); change != nil {
			w.stage.Changes = append(w.stage.Changes, *change)
		}
		return p.Available(pod)
	}
	return false
}

// returns reports whether a Pod that a hook holds before its deletion stays after all: its ordinal is wanted again, with the revision that
// the Pod has. A Pod that its hook has taken out of service is replaced.
func (p *planner) returns(i int) bool {
	pod := p.slots[i].pod
	return !lifecycle.Drains(p.Lifecycle) && !p.Specified(pod) && (p.Updated(pod) || p.At(pod, p.revisionFor(i)))
}

// replaceFinished deletes a Pod that ended. Pods that fail again and again wait longer each time. Pods that succeeded are replaced at
// once. Without the delay, a Pod that fails at its start would be created and deleted as fast as the servers can take it.
func (p *planner) replaceFinished(w *walk, slot *slot) {
	if slot.pod.Status.Phase == corev1.PodFailed {
		if wait := p.waits(slot.ordinal); wait > 0 {
			p.recheck = delay.Sooner(p.recheck, wait)
			return
		}
	}
	deletions := len(w.stage.Delete)
	p.ReplacePod(&w.stage, slot.pod)
	// A hook can hold the Pod instead of deleting it. Only a real deletion counts as a failure.
	if len(w.stage.Delete) > deletions && slot.pod.Status.Phase == corev1.PodFailed {
		p.failed = append(p.failed, slot.ordinal)
	}
}

// create adds the Pod of an empty slot, unless its claims are not ready for it. The scheduler does not place a Pod whose claim is
// being deleted.
func (p *planner) create(w *walk, i int) {
	slot := &p.slots[i]
	ready, deleted := p.claimsReady(slot.ordinal)
	if deleted != "" {
		p.failClaim(w, ordinals.PodName(p.set.Name, slot.ordinal), deleted)
	}
	if !ready {
		return
	}
	// A revision that cannot be decoded fails this slot only. The walk goes on.
	blueprint, err := p.blueprint(p.revisionFor(i))
	if err != nil {
		w.failures = append(w.failures, err)
		return
	}
	w.stage.Create = append(w.stage.Create, engine.Creation{Blueprint: blueprint, ID: strconv.Itoa(slot.ordinal)})
}

// revisionFor returns the revision of a new Pod in a slot. The partition counts slots, not ordinals, so reserved ordinals do
// not change how many Pods stay at the current revision. With an unordered update, any slot can hold an updated Pod, so the Pods at
// the current revision are counted instead.
func (p *planner) revisionFor(i int) *appsv1.ControllerRevision {
	if onDelete(p.set) {
		return p.Update
	}
	older := i
	if p.rolling.UnorderedUpdate != nil {
		older = p.olderThan(i)
		// A Pod of the slot itself is not one of the others.
		if pod := p.slots[i].pod; pod != nil && !p.countsAsUpdated(pod) {
			older--
		}
	}
	if older < int(ptr.Deref(p.rolling.Partition, 0)) {
		return p.Current
	}
	return p.Update
}

// olderThan returns how many Pods at the current revision there are, if the empty slots before this one get it first. The slots are
// walked once for all empty slots of the pass.
func (p *planner) olderThan(i int) int {
	if p.older == nil {
		existing := 0
		for j := range p.slots {
			existing += int(one(p.slots[j].pod != nil && !p.countsAsUpdated(p.slots[j].pod)))
		}
		p.older = make([]int, len(p.slots))
		for j := range p.slots {
			p.older[j] = existing
			existing += int(one(p.slots[j].pod == nil))
		}
	}
	return p.older[i]
}

// blueprint returns what new Pods of a revision have in common. The engine adds the identity of each Pod with Complete. A Pod starts
// in state PreparingNormal only if a preNormal hook holds it.
func (p *planner) blueprint(revision *appsv1.ControllerRevision) (*podcontrol.Blueprint, error) {
	blueprint, err := p.Blueprint(revision)
	if err != nil {
		return nil, err
	}
	blueprint.Gates = []corev1.PodConditionType{pub.KruisePodReadyConditionType}
	blueprint.ClaimTemplates, blueprint.ClaimLabels = p.set.Spec.VolumeClaimTemplates, p.set.Spec.Selector.MatchLabels
	blueprint.ClaimOwners = p.ownersInRange()
	blueprint.Complete = func(pod *corev1.Pod, id string) {
		pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, p.set.Spec.ServiceName
		p.setIdentity(pod, id)
		state := pub.LifecycleStateNormal
		if hooks := p.Lifecycle; hooks != nil && hooks.PreNormal != nil && !lifecycle.AllHooked(hooks.PreNormal, pod) {
			state = pub.LifecycleStatePreparingNormal
		}
		lifecycle.Set(pod, state, p.Now)
	}
	return blueprint, nil
}

// setIdentity writes the labels that name the Pod and its ordinal. These are labels of Kubernetes, so Services and users can select
// one Pod.
func (p *planner) setIdentity(pod *corev1.Pod, id string) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.StatefulSetPodNameLabel, pod.Name)
	if p.indexLabel {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.PodIndexLabel, id)
	}
}

// identify returns the change that gives a Pod the labels of its identity, or nil. Adopted Pods, and Pods from before the feature
// gate was on, can lack them.
func (p *planner) identify(pod *corev1.Pod) *engine.Change {
	id := strconv.Itoa(p.ordinal(pod))
	if pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name && (!p.indexLabel || pod.Labels[appsv1.PodIndexLabel] == id) {
		return nil
	}
	after := pod.DeepCopy()
	p.setIdentity(after, id)
	return &engine.Change{Before: pod, After: after, Tell: true}
}

// condemn deletes the Pods out of range, the highest ordinal first. An order deletes one after the other, and waits for Pods that are
// not available, except for the unavailable Pod with the lowest ordinal. Pods that this pass adopts may have a higher ordinal. A Pod
// whose claims are not handed over yet waits for the stage of claims, which comes first.
func (p *planner) condemn() engine.Stage {
	stage := engine.Stage{Aim: engine.Scale}
	// The next pass knows where the adopted Pods belong in the order.
	if p.ordered && len(p.Orphans) > 0 {
		return stage
	}
	for i, pod := range p.condemned {
		if pod.DeletionTimestamp == nil && p.handedOver(pod) && !p.waitsForOthers(i) {
			p.ReplacePod(&stage, pod)
		}
		// Only the Pod with the highest ordinal may go now.
		if p.ordered {
			break
		}
	}
	return stage
}

// waitsForOthers reports whether the order holds up the deletion of a condemned Pod. Nothing waits for a Pod that never becomes
// available, because it ended or waits for the hook of its deletion, and a Pod whose deletion has begun waits for no other. Only Pods
// with a lower ordinal count, because condemned is sorted by descending ordinal.
func (p *planner) waitsForOthers(i int) bool {
	pod := p.condemned[i]
	if !p.ordered || engine.PreparingDelete(pod) || p.Available(pod) {
		return false
	}
	return slices.ContainsFunc(p.condemned[i+1:], func(other *corev1.Pod) bool {
		// A Pod that ended or is held by its hook never becomes available, so waiting for it would never end.
		returns := !podstate.Finished(other) && !engine.PreparingDelete(other)
		return other.DeletionTimestamp != nil || returns && !p.Available(other)
	})
}
