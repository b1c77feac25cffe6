package uniteddeployment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/passes"
	"kruise.io/kruise/pkg/workload/podstate"
	placement "kruise.io/kruise/pkg/workload/subset"
)

// judgeReserved decides which Pods are reserved, and counts them in the subset. A subset with reserved Pods is unschedulable. So is a
// subset that was added to an existing UnitedDeployment: its Pods count only after they have run, because substitutes in other subsets
// must not be deleted before. The first subsets of a UnitedDeployment are not on trial, because there is nothing to delete.
func (p *pass) judgeReserved(adaptive *v1beta1.AdaptiveUnitedDeploymentStrategy) {
	for _, s := range p.subsets {
		// A status without any subset is that of a new UnitedDeployment.
		added := s.before == nil && len(p.united.Status.SubsetStatuses) > 0
		s.marked = s.marked || added
		for _, pod := range s.pods {
			reserved, timedOut := p.reserved(s, pod, adaptive)
			if reserved {
				s.reserved++
			}
			if timedOut {
				s.timedOut++
			}
		}
		if s.marked {
			// The workload has these Pods in its spec, but the cache does not show them. Without this, a marked subset would look
			// recovered between the creation of its Pods and their appearance in the cache.
			s.unseen = max(0, s.current()-int32(len(s.pods)))
		}
		switch {
		case added:
			s.found(false, reasonCreated, "subset was added", p.now)
		case s.reserved > 0:
			s.found(false, reasonReschedule, "reserved pods found", p.now)
		case s.unseen > 0:
			// The Pods for which the subset was marked do not exist yet.
		default:
			s.found(true, reasonReschedule, "no reserved pods", p.now)
		}
	}
}

// reserved reports whether a Pod is reserved: it cannot run now, so another subset runs a substitute. timedOut is true if it is
// reserved because it was not updated in time. There are two cases. A Pod that is already reserved, or that is new in a marked subset,
// stays reserved until it was updated and ready for unschedulableDuration, so that a Pod that fails again soon does not lose its
// substitute. Any other Pod becomes reserved if it waits for a node for too long.
func (p *pass) reserved(s *subset, pod *corev1.Pod, adaptive *v1beta1.AdaptiveUnitedDeploymentStrategy) (reserved, timedOut bool) {
	critical, duration := limits(adaptive)
	label, labelled := pod.Labels[pub.ReservedPodKey]
	updated := pod.Labels[pub.KruiseControllerRevisionHashKey] == p.label
	// Without the label, a Pod of a marked subset is one that was created after the subset was marked.
	if label == "true" || !labelled && s.marked {
		ready := podstate.Condition(pod, corev1.PodReady)
		if !updated || !podstate.Ready(pod) {
			return true, !updated && p.updateLate(critical)
		}
		left := ready.LastTransitionTime.Add(duration).Sub(p.now)
		p.again(left)
		return left > 0, false
	}
	// A Pod of an old revision that waits for a node is reserved once the update takes too long. Until then, the update should replace it.
	if updated {
		unschedulable, left := placement.Unschedulable(pod, critical, p.now)
		p.again(left)
		return unschedulable, false
	}
	late := placement.Unscheduled(pod) && p.updateLate(critical)
	return late, late
}

// updateLate reports whether the update has lasted for longer than the given time. The condition UnitedDeploymentUpdated has the time
// at which the update began. If the time is not over, another pass is due at its end.
func (p *pass) updateLate(critical time.Duration) bool {
	condition := conditionIn(p.united.Status.Conditions, v1beta1.UnitedDeploymentUpdated)
	if condition == nil || condition.Status != corev1.ConditionFalse {
		return false
	}
	left := condition.LastTransitionTime.Add(critical).Sub(p.now)
	p.again(left)
	return left <= 0
}

// remark marks subsets that just recovered and grow, because nothing shows yet that their new Pods can run. It runs after allocate,
// which decides whether they grow. So the new Pods are reserved until they are ready, and the substitutes stay until then.
func (p *pass) remark() {
	for _, s := range p.subsets {
		if p.reserves() && s.marked && s.reserved == 0 && s.unseen == 0 && s.replicas > s.current() &&
			s.schedulable.Reason != reasonCreated {
			s.found(false, reasonReschedule, "subset just recovered scaled up", p.now)
		}
	}
}

// maxUnavailable returns how many Pods of a subset may be unavailable in an update, so that all its pending Pods are updated at once.
// Zero means that the template decides.
func (s *subset) maxUnavailable() int32 {
	if s.reserved == 0 {
		return 0
	}
	// Pods that are not ready are unavailable anyway. The late Pods are added, so that the update can replace them at once too.
	return max(0, s.replicas-s.counts().ready+s.timedOut)
}

// stalled reports whether reserved Pods hold up an update, because more of them must be unavailable at once than the workload allows.
// It is false once all Pods are updated, and while maxUnavailable is already high enough. So maxUnavailable is only increased during an
// update, and does not follow each Pod.
func (p *pass) stalled(s *subset) bool {
	wanted := s.maxUnavailable()
	if wanted == 0 || s.child.maxUnavailable == nil || !slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool {
		return pod.Labels[pub.KruiseControllerRevisionHashKey] != p.label
	}) {
		return false
	}
	stored := s.child.storedMaxUnavailable()
	return stored == nil || stored.Type != intstr.Int || stored.IntVal < wanted
}

// mayOverride reports whether maxUnavailable of the workload may have been set for a reservation. Then the value of the template must
// return when it is not needed any more, also after the reservation was switched off: the labels of the Pods still show it.
func (p *pass) mayOverride(s *subset) bool {
	return p.reserves() || slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool { return pod.Labels[pub.ReservedPodKey] != "" })
}

// storedMaxUnavailable returns maxUnavailable of the workload, or nil. It reads from a copy, because parts.maxUnavailable may add empty
// structs, and the workload belongs to the cache.
func (c *child) storedMaxUnavailable() *intstr.IntOrString {
	own, _ := c.DeepCopyObject().(controller.Object)
	if p := c.adapter.parts(own); p.maxUnavailable != nil {
		return *p.maxUnavailable()
	}
	return nil
}

// label writes on each Pod whether it is reserved. The label is the memory of the reservation: a Pod with it stays reserved until it
// has been ready for long enough. The selector in the status uses it too, so that scalers do not count reserved Pods. Labels stay when
// the reservation is switched off.
func (r *Reconciler) label(ctx context.Context, p *pass) error {
	if !p.reserves() {
		return nil
	}
	var pods []*corev1.Pod
	var labels []bool
	for _, s := range p.subsets {
		for _, pod := range s.pods {
			if reserved, _ := p.reserved(s, pod, p.adaptive()); pod.Labels[pub.ReservedPodKey] != strconv.FormatBool(reserved) {
				pods, labels = append(pods, pod), append(labels, reserved)
			}
		}
	}
	return passes.Parallel(len(pods), passes.Width, func(i int) error { return r.labelPod(ctx, p.united, pods[i], labels[i]) })
}

// labelPod writes the label of one Pod. A Pod that was deleted or replaced needs no label, so that is no error.
func (r *Reconciler) labelPod(ctx context.Context, united *v1beta1.UnitedDeployment, pod *corev1.Pod, reserved bool) error {
	labelled := pod.DeepCopy()
	metav1.SetMetaDataLabel(&labelled.ObjectMeta, pub.ReservedPodKey, strconv.FormatBool(reserved))
	stored, err := r.server.PatchPod(ctx, &engine.Change{Before: pod, After: labelled}, false)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("label Pod %s: %w", pod.Name, err)
	}
	r.guard.Wrote(united.UID, engine.PodResource.GroupResource(), stored.ResourceVersion)
	return nil
}
