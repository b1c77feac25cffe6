package statefulset

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/ordinals"
)

// slot is the place of one Pod. The names of Pods are fixed, so the API server guarantees that a slot never has two Pods, even if a
// creation arrives late.
type slot struct {
	ordinal int
	// pod is the Pod in the slot in any state, or nil. Until a Pod of the name is really gone, no other Pod can be created.
	pod *corev1.Pod
	// adopting is true if this pass adopts a Pod into the slot.
	adopting bool
}

// planner decides what one pass does for a StatefulSet. It only reads. It is made for one pass and never used for the next one.
type planner struct {
	*engine.View
	settings
	set *v1beta1.StatefulSet
	// rolling is never nil, see rollingOf. ordered is true for the Pod management policy OrderedReady.
	rolling *v1beta1.RollingUpdateStatefulSetStrategy
	ordered bool
	// slots are the places in range, in ascending order. condemned are the Pods outside of the range, the highest ordinal first.
	slots     []slot
	condemned []*corev1.Pod
	// waits returns how long a failed Pod of an ordinal waits for its deletion.
	waits func(ordinal int) time.Duration
	// older is filled by olderThan.
	older []int
	// failed are the ordinals of the failed Pods that the plan deletes. recheck is the delay until a decision may change without an
	// event.
	failed  []int
	recheck time.Duration
}

// newPlanner sorts the Pods of a view into slots. wanted are the ordinals in range, and waits tells how long the failed Pod of an
// ordinal must wait for its deletion.
func newPlanner(v *engine.View, set *v1beta1.StatefulSet, s settings, wanted []int, waits func(int) time.Duration) *planner {
	p := &planner{View: v, settings: s, set: set, rolling: rollingOf(set), ordered: ordered(set), waits: waits}
	places := make(map[int]int, len(wanted))
	for i, ordinal := range wanted {
		places[ordinal] = i
		p.slots = append(p.slots, slot{ordinal: ordinal})
	}
	// Pods that ended or are terminating still have their names, so they fill their slots as well.
	for _, pod := range slices.Concat(v.Pods, v.Inactive) {
		ordinal, ours := ordinals.Of(set.Name, pod)
		if !ours {
			continue
		}
		// A Pod whose name is not one of the set's has no slot and is left alone.
		if i, inRange := places[ordinal]; inRange {
			p.slots[i].pod = pod
		} else {
			p.condemned = append(p.condemned, pod)
		}
	}
	// The pass adopts these Pods after the plan is made. A creation for their slot would fail, because the name is taken.
	for _, pod := range v.Orphans {
		if i, inRange := places[p.ordinal(pod)]; inRange {
			p.slots[i].adopting = true
		}
	}
	slices.SortFunc(p.condemned, func(a, b *corev1.Pod) int { return cmp.Compare(p.ordinal(b), p.ordinal(a)) })
	return p
}

// ordinal returns the ordinal of a Pod that is known to be one of the set.
func (p *planner) ordinal(pod *corev1.Pod) int {
	ordinal, _ := ordinals.Of(p.set.Name, pod)
	return ordinal
}

// plan returns the stages: claims first, then Pods in range, Pods out of range, and updates. The engine executes them until one of
// them changes something. Pods out of range go last, so that a new first ordinal creates the new Pods before the old ones go.
func (p *planner) plan() *engine.Plan {
	plan := &engine.Plan{Awaited: p.preparingUpdate()}
	walk := p.walk()
	plan.Err.Scale = walk.err()
	plan.Stages = []engine.Stage{{Aim: engine.Scale, Claims: p.retained()}, walk.stage}
	// No Pod is deleted by scaling while a Pod in range is missing: the deletion would reduce the number of Pods further.
	if !walk.blocked && !walk.missing {
		plan.Stages = append(plan.Stages, p.condemn())
	}
	candidates, err := p.candidates()
	if err != nil {
		plan.Err.Update = err
		return plan
	}
	plan.Awaited = p.awaited(candidates)
	if p.Stopped {
		return plan
	}
	if walk.blocked || p.ordered && len(p.condemned) > 0 {
		// Only a Pod that already left service for its update goes on, and a broken one that the order would wait for without end.
		candidates = slices.DeleteFunc(candidates, func(i int) bool {
			pod := p.slots[i].pod
			return !preparesUpdate(pod) && (i != walk.blocker || !p.brokenAndUnwanted(pod))
		})
	}
	stage, err := p.updateStage(candidates)
	plan.Stages, plan.Err.Update = append(plan.Stages, stage), err
	return plan
}

// brokenAndUnwanted reports whether a Pod was never available in a revision that nobody wants any more. Its update makes nothing worse. The
// current revision is still wanted while a partition holds Pods back.
func (p *planner) brokenAndUnwanted(pod *corev1.Pod) bool {
	if pod == nil || p.Updated(pod) || p.At(pod, p.Current) && ptr.Deref(p.rolling.Partition, 0) > 0 {
		return false
	}
	return p.NeverAvailable(pod)
}

// preparesUpdate reports whether a Pod waits for the hook of its update. A nil Pod does not.
func preparesUpdate(pod *corev1.Pod) bool {
	return pod != nil && lifecycle.Of(pod) == pub.LifecycleStatePreparingUpdate
}

// preparingUpdate returns the Pods that wait for the hook of their update. It stands in for awaited when the candidates are not
// known.
func (p *planner) preparingUpdate() map[types.UID]bool {
	waiting := map[types.UID]bool{}
	for _, pod := range p.Pods {
		if !p.Stopped && preparesUpdate(pod) {
			waiting[pod.UID] = true
		}
	}
	return waiting
}

// awaited returns the Pods that wait for their hook and whose update is still wanted. It is no longer wanted if the template
// returned to the Pod's revision, if the partition now holds the Pod back, or if the StatefulSet is paused.
func (p *planner) awaited(candidates []int) map[types.UID]bool {
	wanted := map[types.UID]bool{}
	for _, i := range candidates {
		if pod := p.slots[i].pod; preparesUpdate(pod) && !p.Updated(pod) {
			wanted[pod.UID] = true
		}
	}
	return wanted
}
