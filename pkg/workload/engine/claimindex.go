package engine

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claimIndex finds the claims of instances. A claim belongs to the workload, or was handed to the Pod that goes with it.
type claimIndex struct {
	// byInstance are those that the workload controls, terminating ones included, by the ID of their instance.
	byInstance map[string][]*corev1.PersistentVolumeClaim
	// byPod are those that a Pod controls, by its UID.
	byPod map[types.UID][]*corev1.PersistentVolumeClaim
	names map[string]bool
}

func (c *claimIndex) instances() []string { return slices.Sorted(maps.Keys(c.byInstance)) }

// terminating tells whether any claim of the instance is being deleted. Its name cannot be used until it is gone.
func (c *claimIndex) terminating(id string) bool {
	return slices.ContainsFunc(c.byInstance[id], func(claim *corev1.PersistentVolumeClaim) bool { return claim.DeletionTimestamp != nil })
}

// of returns the claims of an instance that the workload controls and that are not being deleted.
func (c *claimIndex) of(id string) (live []*corev1.PersistentVolumeClaim) {
	if id == "" {
		return nil
	}
	for _, claim := range c.byInstance[id] {
		if claim.DeletionTimestamp == nil {
			live = append(live, claim)
		}
	}
	return live
}

// ClaimsOf returns the claims that the workload holds for the Pod's instance.
func (v *View) ClaimsOf(pod *corev1.Pod) []*corev1.PersistentVolumeClaim {
	return v.claims.of(v.Instance(pod))
}

// Returning is how many lost Pods come back with their claims, but not yet: until the lost Pod is gone, no Pod of its name can
// be created, and its node may still write to its volume. A Pod created meanwhile would get claims of its own.
func (v *View) Returning() (pods int) {
	if !v.ReuseClaims {
		return 0
	}
	for _, pod := range v.Inactive {
		if len(v.ClaimsOf(pod)) > 0 {
			pods++
		}
	}
	return pods
}

// finished returns the Pods that ended and whose claims are kept for their replacements. They must go first.
func (v *View) finished() (pods []*corev1.Pod) {
	if !v.ReuseClaims {
		return nil
	}
	for _, pod := range v.Inactive {
		if pod.DeletionTimestamp == nil && len(v.ClaimsOf(pod)) > 0 {
			pods = append(pods, pod)
		}
	}
	return pods
}

// claimMove gives a claim to another owner, or deletes it.
type claimMove struct {
	claim *corev1.PersistentVolumeClaim
	// to is the Pod that gets the claim. Without it the claim goes back to the workload, or is deleted.
	to     *corev1.Pod
	delete bool
	from   types.UID
}

// claimMoves are the moves that are due, whatever else the pass does, given the Pods that it deletes.
//
// Where claims are not reused, a claim of a Pod that is terminating or finished goes with that Pod, and one without a Pod is
// deleted. Where they are, a claim comes back to the workload from a Pod that was to be deleted and is wanted after all.
func (v *View) claimMoves(deleted map[types.UID]bool) (moves []claimMove) {
	if v.ReuseClaims {
		for _, pod := range v.Pods {
			if deleted[pod.UID] || v.leavesOnPurpose(pod) {
				continue
			}
			for _, claim := range v.claims.byPod[pod.UID] {
				moves = append(moves, claimMove{claim: claim, from: pod.UID})
			}
		}
		return moves
	}
	active, inactive := map[string]bool{}, map[string]*corev1.Pod{}
	for _, pod := range slices.Concat(v.Pods, v.Leaving) {
		active[v.Instance(pod)] = true
	}
	for _, pod := range v.Inactive {
		inactive[v.Instance(pod)] = pod
	}
	for _, id := range v.claims.instances() {
		for _, claim := range v.claims.of(id) {
			if !active[id] && !v.memory.mayArrive(id, v.Now) && !v.mounted(claim.Name) {
				moves = append(moves, claimMove{claim: claim, to: inactive[id], delete: inactive[id] == nil, from: v.Object.GetUID()})
			}
		}
	}
	return moves
}

// claimsWait is when to look again at claims that are kept for a Pod that may still arrive, or zero.
func (v *View) claimsWait() (wait time.Duration) {
	if v.ReuseClaims {
		return 0
	}
	for id := range v.memory.attempted {
		if len(v.claims.of(id)) > 0 {
			wait = Sooner(wait, v.memory.arrivesFor(id, v.Now))
		}
	}
	return wait
}

// mounted tells whether an active Pod uses a claim, whichever instance its label names.
func (v *View) mounted(claim string) bool {
	return slices.ContainsFunc(v.Pods, func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
			source := volume.PersistentVolumeClaim
			return source != nil && source.ClaimName == claim
		})
	})
}
