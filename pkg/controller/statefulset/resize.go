package statefulset

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/delay"
	"kruise.io/kruise/pkg/workload/engine"
)

// classRetry is the delay after which a storage class that does not allow larger claims is read again. Classes are not watched, and
// the delay after failed passes grows to many minutes.
const classRetry = 30 * time.Second

// grows reports whether an update makes claims larger. Under OnDelete of either strategy, claims stay as they are until a user
// replaces them.
func (p *planner) grows() bool {
	return p.resize && p.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		p.set.Spec.VolumeClaimUpdateStrategy.Type == v1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
}

// growing reports whether a claim of the ordinal waits for the storage that it requests. Its Pod counts against maxUnavailable
// meanwhile, so claims grow one Pod after the other.
func (p *planner) growing(ordinal int) bool {
	return p.grows() && slices.ContainsFunc(p.claims(ordinal), func(claim *corev1.PersistentVolumeClaim) bool { return !full(claim) })
}

// outgrown reports whether a claim of the ordinal does not fit its template. Its Pod is a candidate of the update even if the Pod
// itself is up to date.
func (p *planner) outgrown(ordinal int) bool {
	if !p.grows() {
		return false
	}
	for i := range p.set.Spec.VolumeClaimTemplates {
		template := &p.set.Spec.VolumeClaimTemplates[i]
		if claim := p.Claim(claimName(p.set, template, ordinal)); claim != nil && !compatible(claim, template) {
			return true
		}
	}
	return false
}

// grow makes the claims of a slot as large as their templates. It returns whether the Pod may go on to its update: all its claims
// have their new size, or get it when the Pod starts again. A claim that does not exist is created with its Pod, at the new size. An
// error stops the update stage at this Pod. Several claims of a Pod grow at the same time.
func (u *updater) grow(slot *slot) (grown bool, err error) {
	if !u.grows() {
		return true, nil
	}
	grown = true
	for i := range u.set.Spec.VolumeClaimTemplates {
		template := &u.set.Spec.VolumeClaimTemplates[i]
		claim := u.Claim(claimName(u.set, template, slot.ordinal))
		switch {
		case claim == nil:
		// The volume has its size, or the kubelet grows the file system when the Pod starts again.
		case compatible(claim, template):
			grown = grown && (full(claim) || resizedAtStart(claim))
		// Only the size of a claim can change. Another class or access mode needs a new claim, which would lose the data.
		case !sameKind(claim, template):
			u.stage.Warn = append(u.stage.Warn, engine.Notice{Reason: "FailedUpdatePVC", Message: fmt.Sprintf(
				"failed to update pvc %s: contains diff other than spec resource, wait pvc to be deleted", claim.Name)})
			return false, fmt.Errorf("resize claim %s: it differs from its template in more than its size; delete the claim, or set "+
				"volumeClaimUpdateStrategy.type to OnDelete", claim.Name)
		default:
			// The API server would refuse the larger claim. The class is checked first, so the error names the class.
			if err := u.expandable(claim); err != nil {
				return false, err
			}
			after := claim.DeepCopy()
			after.Spec.Resources = *template.Spec.Resources.DeepCopy()
			metav1.SetMetaDataAnnotation(&after.ObjectMeta, pub.ClaimOwnerKey, u.set.Name)
			u.stage.Claims = append(u.stage.Claims, engine.ClaimChange{Before: claim, After: after, Pod: slot.pod.Name, Act: engine.Expand})
			grown = false
		}
	}
	return grown, nil
}

// expandable returns an error if the storage class of a claim does not allow larger claims. A class that does not exist is an error
// too. The pass is retried after classRetry, because the class can be created or changed.
func (p *planner) expandable(claim *corev1.PersistentVolumeClaim) error {
	name := ptr.Deref(claim.Spec.StorageClassName, "")
	class, err := p.classes(name)
	switch {
	case err != nil:
		err = fmt.Errorf("resize claim %s: %w", claim.Name, err)
	case !ptr.Deref(class.AllowVolumeExpansion, false):
		err = fmt.Errorf("resize claim %s: StorageClass %s does not allow volume expansion", claim.Name, name)
	default:
		return nil
	}
	p.recheck = delay.Sooner(p.recheck, classRetry)
	return err
}

// resizedAtStart reports whether the file system of a claim grows when its Pod starts again. The volume itself already has its size.
func resizedAtStart(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimFileSystemResizePending && c.Status == corev1.ConditionTrue
	})
}

// compatible reports whether a claim fits its template. A larger claim fits. Claims cannot shrink, so after a rollback the larger
// claim is as good as the template.
func compatible(claim, template *corev1.PersistentVolumeClaim) bool {
	return sameKind(claim, template) && storage(claim.Spec.Resources.Requests).Cmp(*storage(template.Spec.Resources.Requests)) >= 0
}

// sameKind reports whether a claim differs from its template only in its size. A template without a class matches every class,
// because the default class was written into the claim.
func sameKind(claim, template *corev1.PersistentVolumeClaim) bool {
	a, b := claim.Spec.StorageClassName, template.Spec.StorageClassName
	return (a == nil || b == nil || *a == *b) && slices.Equal(claim.Spec.AccessModes, template.Spec.AccessModes)
}

// full reports whether a claim has the storage that it requests.
func full(claim *corev1.PersistentVolumeClaim) bool {
	return storage(claim.Status.Capacity).Cmp(*storage(claim.Spec.Resources.Requests)) >= 0
}

// storage returns the storage in a list, or zero if the list has none.
func storage(of corev1.ResourceList) *resource.Quantity { return of.Storage() }
