package uniteddeployment

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	placement "kruise.io/kruise/pkg/workload/subset"
)

// Reasons of the condition Schedulable of a subset. The condition is the memory of the adaptive strategy between two passes.
const (
	// reasonReschedule: Pods wait for a node, or with reservation, the subset has reserved Pods or has none any more.
	reasonReschedule = "reschedule"
	// reasonRecover: the subset was unschedulable for unschedulableDuration, and gets Pods again.
	reasonRecover = "recover"
	// reasonCreated: the subset was added to an existing UnitedDeployment, and its first Pods are on trial. Only with reservation.
	reasonCreated = "created"
)

// conditionOf returns the condition Schedulable in the status of a subset, or nil.
func conditionOf(status *v1beta1.UnitedDeploymentSubsetStatus) *v1beta1.UnitedDeploymentSubsetCondition {
	if status == nil {
		return nil
	}
	for i := range status.Conditions {
		if status.Conditions[i].Type == v1beta1.UnitedDeploymentSubsetSchedulable {
			return &status.Conditions[i]
		}
	}
	return nil
}

// found sets the condition Schedulable. Its time moves with status and reason: judgeSubset measures from it how long the subset has
// been unschedulable.
func (s *subset) found(schedulable bool, reason, message string, now time.Time) {
	status := corev1.ConditionFalse
	if schedulable {
		status = corev1.ConditionTrue
	}
	since := metav1.NewTime(now)
	if before := s.schedulable; before != nil && before.Status == status && before.Reason == reason {
		since = before.LastTransitionTime
	}
	s.schedulable = &v1beta1.UnitedDeploymentSubsetCondition{
		Type: v1beta1.UnitedDeploymentSubsetSchedulable, Status: status, Reason: reason, Message: message, LastTransitionTime: since,
	}
}

// limits returns how long a Pod may wait for a node, and how long a subset stays unschedulable. The defaults are those of the API. They
// apply to objects that were stored without them.
func limits(adaptive *v1beta1.AdaptiveUnitedDeploymentStrategy) (critical, unschedulable time.Duration) {
	return time.Duration(ptr.Deref(adaptive.RescheduleCriticalSeconds, 30)) * time.Second,
		time.Duration(ptr.Deref(adaptive.UnschedulableDuration, 300)) * time.Second
}

// judge decides which subsets are unschedulable, and asks for another pass at the time when time alone can change this. Without the
// adaptive strategy, the conditions of an earlier one are removed.
func (p *pass) judge() {
	adaptive := p.adaptive()
	switch {
	case adaptive == nil:
		for _, s := range p.subsets {
			s.schedulable, s.marked = nil, false
		}
	case adaptive.ReserveUnschedulablePods:
		p.judgeReserved(adaptive)
	default:
		for _, s := range p.subsets {
			p.judgeSubset(s, adaptive)
		}
	}
}

// judgeSubset decides whether a subset is unschedulable, without reservation. An unschedulable subset stays so for
// unschedulableDuration, because it gets no new Pods that could show a recovery. Afterwards it gets Pods again, and is judged by them.
func (p *pass) judgeSubset(s *subset, adaptive *v1beta1.AdaptiveUnitedDeploymentStrategy) {
	critical, duration := limits(adaptive)
	if s.marked {
		if left := s.schedulable.LastTransitionTime.Add(duration).Sub(p.now); left > 0 {
			p.again(left)
			return
		}
		s.found(true, reasonRecover, "unschedulable duration is over", p.now)
	}
	if s.child == nil {
		return
	}
	// No Pod of a new workload can wait for too long before this time.
	p.again(s.child.GetCreationTimestamp().Add(critical).Sub(p.now))
	waits := false
	for _, pod := range s.pods {
		unschedulable, left := placement.Unschedulable(pod, critical, p.now)
		waits = waits || unschedulable
		p.again(left)
	}
	// A waiting Pod alone is not enough: the status of the workload must also show a Pod that is not ready.
	if of := s.counts(); waits && of.ready < of.replicas {
		s.found(false, reasonReschedule, "timeout pending pods found", p.now)
		p.again(duration)
	}
}

// storeUnschedulable stores which subsets have become unschedulable, before replicas move to other subsets. The move deletes the pending
// Pods, so a later pass could not find the condition again. Reserved Pods are kept and have labels, so they need no such write.
func (r *Reconciler) storeUnschedulable(ctx context.Context, p *pass) error {
	if p.reserves() || !slices.ContainsFunc(p.subsets, (*subset).newlyUnschedulable) {
		return nil
	}
	client := r.statuses.Client(p.united.Namespace)
	stored, err := controller.UpdateStatus(ctx, client, p.united, func(fresh *v1beta1.UnitedDeployment) error {
		for _, s := range p.subsets {
			if s.newlyUnschedulable() {
				setCondition(&fresh.Status, s)
			}
		}
		return nil
	})
	if err != nil || stored == nil {
		return err
	}
	r.statuses.Guard.Wrote(stored.UID, r.statuses.Resource, stored.ResourceVersion)
	// After a change of the spec, this pass goes on with what it has read, and the change starts another one.
	if stored.Generation == p.united.Generation {
		p.united = stored
	}
	return nil
}

// newlyUnschedulable reports whether this pass has found that the subset is unschedulable.
func (s *subset) newlyUnschedulable() bool {
	return !s.marked && s.schedulable != nil && s.schedulable.Status == corev1.ConditionFalse
}

// setCondition puts the condition of a subset into a status.
func setCondition(status *v1beta1.UnitedDeploymentStatus, s *subset) {
	i := slices.IndexFunc(status.SubsetStatuses, func(of v1beta1.UnitedDeploymentSubsetStatus) bool { return of.Name == s.Name })
	if i < 0 {
		i = len(status.SubsetStatuses)
		status.SubsetStatuses = append(status.SubsetStatuses, v1beta1.UnitedDeploymentSubsetStatus{Name: s.Name})
	}
	status.SubsetStatuses[i].Conditions = []v1beta1.UnitedDeploymentSubsetCondition{*s.schedulable}
}
