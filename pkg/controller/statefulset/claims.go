package statefulset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/ordinals"
)

// claimName returns the name of the claim of an ordinal, in the form of Kubernetes: <template>-<set>-<ordinal>. A new Pod of the
// ordinal therefore finds the claims of the one before it.
func claimName(set *v1beta1.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) string {
	return template.Name + "-" + ordinals.PodName(set.Name, ordinal)
}

// claimNames returns the names of the claims of all Pods that exist or are wanted. Pods out of range are included, because the
// retention policy changes the owners of their claims too.
func claimNames(set *v1beta1.StatefulSet, wanted []int, pods []*corev1.Pod) (names []string) {
	all := slices.Clone(wanted)
	for _, pod := range pods {
		if ordinal, ours := ordinals.Of(set.Name, pod); ours {
			all = append(all, ordinal)
		}
	}
	slices.Sort(all)
	for _, ordinal := range slices.Compact(all) {
		for i := range set.Spec.VolumeClaimTemplates {
			names = append(names, claimName(set, &set.Spec.VolumeClaimTemplates[i], ordinal))
		}
	}
	return names
}

// claims returns the existing claims of an ordinal, in the order of their templates. A claim in any state counts, also one that is
// being deleted.
func (p *planner) claims(ordinal int) (claims []*corev1.PersistentVolumeClaim) {
	for i := range p.set.Spec.VolumeClaimTemplates {
		if claim := p.Claim(claimName(p.set, &p.set.Spec.VolumeClaimTemplates[i], ordinal)); claim != nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// deletesWhenScaled reports whether the claims of a Pod go with the Pod when it is scaled in. Without the feature gate, the policy is
// ignored.
func (p *planner) deletesWhenScaled() bool {
	policy := p.set.Spec.PersistentVolumeClaimRetentionPolicy
	return p.retention && policy != nil && policy.WhenScaled == v1beta1.DeletePersistentVolumeClaimRetentionPolicyType
}

// ownersInRange returns the owners of the claims of Pods in range. With whenDeleted Delete it is the set, so garbage collection
// deletes the claims with the set. Otherwise the claims have no owner and stay.
func (p *planner) ownersInRange() []metav1.OwnerReference {
	policy := p.set.Spec.PersistentVolumeClaimRetentionPolicy
	if !p.retention || policy == nil || policy.WhenDeleted != v1beta1.DeletePersistentVolumeClaimRetentionPolicyType {
		return nil
	}
	return []metav1.OwnerReference{reference(kind, p.set)}
}

// ownersOutOfRange returns the owners of the claims of a Pod out of range. With whenScaled Delete it is the Pod, so garbage
// collection deletes the claims when the Pod is gone.
func (p *planner) ownersOutOfRange(pod *corev1.Pod) []metav1.OwnerReference {
	if p.deletesWhenScaled() {
		return []metav1.OwnerReference{reference(corev1.SchemeGroupVersion.WithKind("Pod"), pod)}
	}
	return p.ownersInRange()
}

// reference returns a reference that lets garbage collection delete a claim with its owner. It names no controller.
func reference(kind schema.GroupVersionKind, owner metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: owner.GetName(), UID: owner.GetUID()}
}

// podReference reports whether a reference is to a Pod of this name. setReference does so for the set.
func podReference(ref *metav1.OwnerReference, name string) bool {
	return ref.APIVersion == "v1" && ref.Kind == "Pod" && ref.Name == name
}

// setReference ignores the version of the API and the UID: a reference of a set that was deleted and created again is replaced too.
func (p *planner) setReference(ref *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == kind.Group && ref.Kind == kind.Kind && ref.Name == p.set.Name
}

// retained returns the changes that give claims the owners which the retention policy wants. Garbage collection then does the rest,
// even if this controller ends: a condemned Pod is deleted only after its claims have their owners. Without the feature gate, the
// owners that claims have stay as they are.
func (p *planner) retained() (changes []engine.ClaimChange) {
	if !p.retention {
		return nil
	}
	for i := range p.slots {
		slot := &p.slots[i]
		// The Pod may have been condemned before its ordinal came back.
		if slot.pod != nil && slot.pod.DeletionTimestamp != nil && p.deletesWhenScaled() {
			continue // A claim that goes with the Pod must go.
		}
		changes = append(changes, p.ownClaims(slot.ordinal, p.ownersInRange())...)
	}
	// These Pods are out of range, so the other part of the policy decides about their claims.
	for _, pod := range p.condemned {
		changes = append(changes, p.ownClaims(p.ordinal(pod), p.ownersOutOfRange(pod))...)
	}
	return changes
}

// ownClaims returns the changes that give the claims of an ordinal these owners. It keeps references to owners that are neither the
// set nor its Pod, because users or other controllers wrote them.
func (p *planner) ownClaims(ordinal int, owners []metav1.OwnerReference) (changes []engine.ClaimChange) {
	name := ordinals.PodName(p.set.Name, ordinal)
	for _, claim := range p.claims(ordinal) {
		// A claim that is being deleted needs no owner, and a stale one must go.
		if claim.DeletionTimestamp != nil || p.ownedBy(claim, name, owners) || p.stale(claim, ordinal) {
			continue
		}
		after := claim.DeepCopy()
		after.OwnerReferences = slices.DeleteFunc(after.OwnerReferences, func(ref metav1.OwnerReference) bool {
			return podReference(&ref, name) || p.setReference(&ref)
		})
		after.OwnerReferences = append(after.OwnerReferences, owners...)
		changes = append(changes, engine.ClaimChange{Before: claim, After: after, Pod: name, Act: engine.Edit})
	}
	return changes
}

// ownedBy reports whether a claim has exactly these owners, besides owners that are neither the set nor its Pod. Owners are compared
// by UID, because a Pod of the same name can be another Pod.
func (p *planner) ownedBy(claim *corev1.PersistentVolumeClaim, pod string, owners []metav1.OwnerReference) bool {
	matched := 0
	for i := range claim.OwnerReferences {
		ref := &claim.OwnerReferences[i]
		if !podReference(ref, pod) && !p.setReference(ref) {
			continue
		}
		if !slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return owner.UID == ref.UID }) {
			return false
		}
		matched++
	}
	return matched == len(owners)
}

// handedOver reports whether the claims of a condemned Pod have their owners. The planner reads this from the cache, so a condemned
// Pod is deleted one pass after the write, when the guard has seen it.
func (p *planner) handedOver(pod *corev1.Pod) bool {
	if !p.retention {
		return true
	}
	for _, claim := range p.claims(p.ordinal(pod)) {
		// A claim that is being deleted goes anyway, so its owners do not matter.
		if claim.DeletionTimestamp == nil && !p.ownedBy(claim, pod.Name, p.ownersOutOfRange(pod)) {
			return false
		}
	}
	return true
}

// stale reports whether a claim waits for garbage collection, because the Pod that it goes with no longer exists. Such a claim is
// neither changed nor mounted. Other owners would keep it, although the policy says that it goes.
func (p *planner) stale(claim *corev1.PersistentVolumeClaim, ordinal int) bool {
	if !p.deletesWhenScaled() {
		return false
	}
	name := ordinals.PodName(p.set.Name, ordinal)
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return podReference(&ref, name) && !p.exists(ref.UID)
	})
}

// exists reports whether the view has a Pod of the set with the UID, in any state. A terminating Pod still exists, so garbage
// collection has not acted yet.
func (p *planner) exists(pod types.UID) bool {
	is := func(candidate *corev1.Pod) bool { return candidate.UID == pod }
	return slices.ContainsFunc(p.Pods, is) || slices.ContainsFunc(p.Inactive, is) || slices.ContainsFunc(p.Released, is)
}

// claimsReady reports whether a Pod of the ordinal may mount the claims that exist. It returns the name of a claim that is being
// deleted, if there is one. A claim that does not exist is no obstacle: the engine creates it before the Pod.
func (p *planner) claimsReady(ordinal int) (ready bool, deleted string) {
	for _, claim := range p.claims(ordinal) {
		if claim.DeletionTimestamp != nil {
			return false, claim.Name
		}
		name := ordinals.PodName(p.set.Name, ordinal)
		for i := range claim.OwnerReferences {
			// Garbage collection deletes the claim. If the policy has changed, the reference is removed first.
			if p.retention && podReference(&claim.OwnerReferences[i], name) {
				return false, ""
			}
		}
	}
	return true, ""
}

// failClaim reports that a Pod waits for the deletion of a claim. It uses the words of a claim that the server refused, because
// nothing is sent to the server here.
func (p *planner) failClaim(w *walk, pod, claim string) {
	err := fmt.Errorf("pvc %s is to be deleted", claim)
	w.failures = append(w.failures, fmt.Errorf("create claims of Pod %s: %w", pod, err))
	reason, message := describer(p.set.Name)(&engine.Result{Act: engine.Create, Pod: pod, Claim: claim, Err: err})
	w.stage.Warn = append(w.stage.Warn, engine.Notice{Reason: reason, Message: message})
}

// createMissingClaims creates the claims that a Pod lacks that waits to be scheduled. A user can delete a claim before its Pod is
// scheduled, and the scheduler does not place a Pod without its claims. A Pod that runs has mounted its claims, so only pending Pods
// are looked at.
func (p *planner) createMissingClaims(w *walk, slot *slot) {
	blueprint, err := p.blueprint(p.Update)
	if err != nil {
		w.failures = append(w.failures, err)
		return
	}
	for _, claim := range blueprint.Claims(strconv.Itoa(slot.ordinal)) {
		existing := p.Claim(claim.Name)
		switch {
		case existing == nil:
			w.stage.Claims = append(w.stage.Claims, engine.ClaimChange{After: claim, Pod: slot.pod.Name})
		case existing.DeletionTimestamp != nil:
			p.failClaim(w, slot.pod.Name, claim.Name)
		}
	}
}

// claimIndex finds sets by the part of the names of their claims that comes before the ordinal.
const claimIndex = "claims"

// claimPrefixes returns the index values of a set: one for each claim template.
func claimPrefixes(object any) (prefixes []string, _ error) {
	set, ok := object.(*v1beta1.StatefulSet)
	if !ok {
		return nil, nil
	}
	for i := range set.Spec.VolumeClaimTemplates {
		prefixes = append(prefixes, set.Namespace+"/"+set.Spec.VolumeClaimTemplates[i].Name+"-"+set.Name)
	}
	return prefixes, nil
}

// setsOfClaim returns a mapper from a claim to the sets whose Pods mount it. Claims have no owner under the default policy, so
// OwnerOf cannot find their set. Two sets can have the same prefix, such as template data of set web-1 and template data-web of set
// 1. Both are then reconciled.
func setsOfClaim(sets cache.Indexer) func(metav1.Object) []types.NamespacedName {
	return func(claim metav1.Object) (keys []types.NamespacedName) {
		end := strings.LastIndexByte(claim.GetName(), '-')
		if end < 0 {
			return nil
		}
		found, err := sets.ByIndex(claimIndex, claim.GetNamespace()+"/"+claim.GetName()[:end])
		if err != nil {
			return nil
		}
		for _, item := range found {
			if set, ok := item.(*v1beta1.StatefulSet); ok {
				keys = append(keys, types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
			}
		}
		return keys
	}
}
