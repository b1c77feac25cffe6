package engine

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/workload/podcontrol"
)

// Identity says what the Pods of a workload are: how they are named, and what becomes of their claims. Each kind has one of
// RandomIdentity, OrdinalIdentity and PlaceIdentity.
//
// Two facts are the same for all of them. A workload and what it owns find each other by namespace and UID: see Caches. And an object
// belongs to the instance in its name: see View.Instance.
type Identity struct {
	// Name is the first part of the names of all Pods. It is followed by a dash and the ID of the instance.
	Name string
	// Label receives the ID of an instance, on its Pod and on its claims. It may be empty. Users and tools read it, and nothing here does,
	// because it can be edited.
	Label string
	// ReuseClaims keeps the claims of lost Pods for their replacements.
	ReuseClaims bool
	// Places is true if each Pod belongs to a node.
	Places bool
	// ClaimNames returns the names of claims that the plan needs and that the workload does not control. View.Claim finds them. It
	// may be nil.
	ClaimNames func(pods []*corev1.Pod) []string
}

// RandomIdentity is the identity of Pods that are all alike. View.NewIDs chooses IDs. A new Pod can take the ID, and with it the claims, of
// one that was lost.
func RandomIdentity(workload, label string, reuseClaims bool) Identity {
	return Identity{Name: workload, Label: label, ReuseClaims: reuseClaims}
}

// OrdinalIdentity is the identity of numbered Pods. The planner chooses the ordinals, which are the IDs, and a Pod keeps the claims of its
// ordinal. The API server refuses a second Pod of an ordinal.
func OrdinalIdentity(set string, claimNames func(pods []*corev1.Pod) []string) Identity {
	return Identity{Name: set, ReuseClaims: true, ClaimNames: claimNames}
}

// PlaceIdentity is the identity of Pods that belong to nodes, one for each node. View.PlaceIDs chooses IDs. Such Pods have no claims.
func PlaceIdentity(workload string) Identity {
	return Identity{Name: podcontrol.PlaceName(workload), Places: true}
}

// Instance returns the ID of the instance that a Pod belongs to, or "" if its name is not one that the workload gives. Such a Pod has no
// claims of the workload.
func (v *View) Instance(pod *corev1.Pod) string {
	return podcontrol.InstanceOfPod(v.Identity.Name, pod.Name)
}

// instanceOf does the same for a claim.
func (v *View) instanceOf(claim *corev1.PersistentVolumeClaim) string {
	return podcontrol.InstanceOfClaim(v.Identity.Name, claim.Name)
}

// NewIDs returns n instance IDs for Pods to create. It takes the IDs of creations whose answer was lost first, then, if claims
// are reused, the IDs of claims without a Pod, and then random IDs.
func (v *View) NewIDs(n int) (ids []string) {
	taken := v.instancesWithPods()
	take := func(id string) {
		if id != "" && !taken[id] && len(ids) < n {
			ids, taken[id] = append(ids, id), true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.memory.attempted)) {
		take(id)
	}
	for _, id := range v.claims.instances() {
		if v.Identity.ReuseClaims && !v.claims.terminating(id) {
			take(id)
		}
		taken[id] = true
	}
	for len(ids) < n {
		ids = append(ids, podcontrol.NewID(v.random, taken))
	}
	return ids
}

// instancesWithPods returns the IDs of the instances that have a Pod in any state. The caller owns the map.
func (v *View) instancesWithPods() map[string]bool {
	ids := map[string]bool{}
	for _, pods := range [][]*corev1.Pod{v.Pods, v.Inactive, v.Released} {
		for _, pod := range pods {
			ids[v.Instance(pod)] = true
		}
	}
	return ids
}
