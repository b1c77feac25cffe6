package engine

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/podstate"
)

// claimIndex finds the claims of instances. A claim is controlled by the workload or by a Pod. A claim that a Pod controls is
// garbage collected with that Pod.
type claimIndex struct {
	// byInstance holds the claims that the workload controls, including terminating ones, by instance ID.
	byInstance map[string][]*corev1.PersistentVolumeClaim
	// byPod holds the claims that a Pod controls, by the UID of the Pod.
	byPod map[types.UID][]*corev1.PersistentVolumeClaim
	// names are the names of all claims above, and of those of Identity.ClaimNames that exist. A creation skips claims with these
	// names.
	names map[string]bool
}

// instances returns the IDs of instances with claims of the workload, sorted, so that each pass decides in the same order.
func (c *claimIndex) instances() []string { return slices.Sorted(maps.Keys(c.byInstance)) }

// terminating reports whether any claim of the instance is being deleted. Its name cannot be used until the deletion is
// complete. A Pod of this instance would wait for it.
func (c *claimIndex) terminating(id string) bool {
	return slices.ContainsFunc(c.byInstance[id], func(claim *corev1.PersistentVolumeClaim) bool { return claim.DeletionTimestamp != nil })
}

// of returns the claims of an instance that the workload controls and that are not being deleted. An object without an ID has
// none.
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

// ClaimsOf returns the claims of the Pod's instance that the workload controls and that are not being deleted. Claims that were
// handed to the Pod are not among them.
func (v *View) ClaimsOf(pod *corev1.Pod) []*corev1.PersistentVolumeClaim {
	return v.claims.of(v.Instance(pod))
}

// Creatable returns how many of the missing Pods can be created now. Lost Pods are replaced with their claims, but not yet: until a lost
// Pod is deleted, no Pod with its name can be created, and its node may still write to its volume. A Pod created meanwhile would get new
// claims. Claims without a Pod can be used at once, so they wait for no lost Pod, which may be on a node that is gone. Pods that the pass
// adopts are not missing.
func (v *View) Creatable(missing int) int {
	for _, pod := range v.Orphans {
		if podstate.Active(pod) {
			missing--
		}
	}
	missing = max(0, missing)
	if !v.Identity.ReuseClaims {
		return missing
	}
	used, lost := v.instancesWithPods(), 0
	for _, pod := range v.Inactive {
		if len(v.ClaimsOf(pod)) > 0 {
			lost++
		}
	}
	unused := 0
	for id := range v.claims.byInstance {
		if id != "" && !used[id] && !v.claims.terminating(id) {
			unused++
		}
	}
	return min(missing, max(unused, missing-lost))
}

// finished returns the Pods that ended but are not deleted, and whose claims are kept for their replacements. They must be
// deleted before the replacements are created.
func (v *View) finished() (pods []*corev1.Pod) {
	if !v.Identity.ReuseClaims {
		return nil
	}
	for _, pod := range v.Inactive {
		if pod.DeletionTimestamp == nil && len(v.ClaimsOf(pod)) > 0 {
			pods = append(pods, pod)
		}
	}
	return pods
}

// claimMove changes the owner of a claim, or deletes the claim.
type claimMove struct {
	claim *corev1.PersistentVolumeClaim
	// to is the Pod that gets the claim. If it is nil, the claim returns to the workload or is deleted.
	to     *corev1.Pod
	delete bool
	// from is the UID of the present owner. The move removes this owner only.
	from types.UID
}

// claimMoves returns the moves that are due whatever else the pass does. deleted are the Pods that the pass deletes.
//
// If claims are not reused, the claim of a terminating or finished Pod moves to that Pod, and a claim without a Pod is deleted.
// If claims are reused, a claim returns to the workload when its Pod is no longer to be deleted.
func (v *View) claimMoves(deleted map[types.UID]bool) (moves []claimMove) {
	if v.Identity.ReuseClaims {
		// A Pod that was to be deleted got its claims first. If it stays after all, its claims would be deleted with it later.
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
	// Most workloads have no claims, and need no maps of their Pods.
	if len(v.claims.byInstance) == 0 {
		return nil
	}
	active, inactive := map[string]bool{}, map[string]*corev1.Pod{}
	for _, pod := range slices.Concat(v.Pods, v.Released, v.Orphans) {
		active[v.Instance(pod)] = true
	}
	for _, pod := range v.Inactive {
		inactive[v.Instance(pod)] = pod
	}
	for _, id := range v.claims.instances() {
		for _, claim := range v.claims.of(id) {
			// The last check protects claims that a Pod of another name mounts, for example one that a user gave to the workload.
			if !active[id] && !v.memory.mayArrive(id, v.Now) && !v.mounted(claim.Name) {
				moves = append(moves, claimMove{claim: claim, to: inactive[id], delete: inactive[id] == nil, from: v.Object.GetUID()})
			}
		}
	}
	return moves
}

// claimsWait returns the delay until claims kept for a Pod that may still be created must be checked again, or zero. Without
// it, no event would come when the time for the creation is over.
func (v *View) claimsWait() (wait time.Duration) {
	if v.Identity.ReuseClaims {
		return 0
	}
	for id := range v.memory.attempted {
		if len(v.claims.of(id)) > 0 {
			wait = delay.Sooner(wait, v.memory.arrivesFor(id, v.Now))
		}
	}
	return wait
}

// mounted reports whether an active Pod uses the claim, whatever instance the Pod belongs to.
func (v *View) mounted(claim string) bool {
	uses := func(pod *corev1.Pod) bool { return mounts(pod, claim) }
	return slices.ContainsFunc(v.Pods, uses) || slices.ContainsFunc(v.Orphans, uses)
}

// mounts reports whether the Pod uses the claim.
func mounts(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		source := volume.PersistentVolumeClaim
		return source != nil && source.ClaimName == claim
	})
}
