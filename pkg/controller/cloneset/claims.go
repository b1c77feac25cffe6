package cloneset

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// cleanClaims deals with the claims of Pods that were lost, when claims are not reused: a claim of a Pod that is terminating
// or finished goes with that Pod, and one without a Pod is deleted.
func (r *Reconciler) cleanClaims(ctx context.Context, v *view) error {
	if v.set.Spec.ScaleStrategy.EnablePVCReuse {
		return nil
	}
	var failures []error
	for _, orphan := range v.orphanedClaims() {
		failures = append(failures, r.write.cleanClaim(ctx, v.set, orphan))
	}
	return errors.Join(failures...)
}

// orphanedClaim is a claim without an active Pod, and the inactive Pod that it belongs to, if any.
type orphanedClaim struct {
	claim *corev1.PersistentVolumeClaim
	pod   *corev1.Pod
}

func (v *view) orphanedClaims() (orphans []orphanedClaim) {
	if len(v.claims) == 0 {
		return nil
	}
	active, inactive := map[string]bool{}, map[string]*corev1.Pod{}
	for _, pod := range v.pods {
		active[pod.Labels[pub.CloneSetInstanceIDKey]] = true
	}
	for _, pod := range v.inactive {
		inactive[pod.Labels[pub.CloneSetInstanceIDKey]] = pod
	}
	for _, claim := range v.claims {
		id := claim.Labels[pub.CloneSetInstanceIDKey]
		if id == "" || active[id] || v.mounted(claim.Name) {
			continue
		}
		orphans = append(orphans, orphanedClaim{claim: claim, pod: inactive[id]})
	}
	return orphans
}

// mounted tells whether an active Pod uses a claim, whatever instance it says it is.
func (v *view) mounted(claim string) bool {
	for _, pod := range v.pods {
		for i := range pod.Spec.Volumes {
			if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil && source.ClaimName == claim {
				return true
			}
		}
	}
	return false
}

// claimsOf are the claims of a Pod's instance.
func (v *view) claimsOf(pod *corev1.Pod) (owned []*corev1.PersistentVolumeClaim) {
	id := pod.Labels[pub.CloneSetInstanceIDKey]
	for _, claim := range v.claims {
		if id != "" && claim.Labels[pub.CloneSetInstanceIDKey] == id {
			owned = append(owned, claim)
		}
	}
	return owned
}

// returning is how many lost Pods come back with their claims, but not yet: while the lost Pod still goes, none of its name
// can be created, and its node may still write to its volume. One created meanwhile would have a claim of its own, and the
// lost Pod's would be left over.
func (v *view) returning() (pods int) {
	if !v.set.Spec.ScaleStrategy.EnablePVCReuse || len(v.set.Spec.VolumeClaimTemplates) == 0 {
		return 0
	}
	for _, pod := range v.inactive {
		pods += one(pod.DeletionTimestamp != nil && len(v.claimsOf(pod)) > 0)
	}
	return pods
}

// handedOver leaves the claims of Pods that were let go out of the view, and remembers their instances: in this very pass a
// claim that is theirs now must be neither deleted nor reused, nor their names.
func (v *view) handedOver(leave []*corev1.Pod) {
	for _, pod := range leave {
		theirs := v.claimsOf(pod)
		v.claims = slices.DeleteFunc(v.claims, func(claim *corev1.PersistentVolumeClaim) bool { return slices.Contains(theirs, claim) })
	}
	v.inactive = append(v.inactive, leave...)
}

// podRef makes a Pod the controller of a claim. It does not block the Pod's deletion, which would ask for another right.
func podRef(pod *corev1.Pod) metav1.OwnerReference {
	ref := *metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))
	ref.BlockOwnerDeletion = nil
	return ref
}
