package cloneset

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Reasons of the condition Progressing.
const (
	reasonAvailable = "CloneSetAvailable"
	reasonPaused    = "CloneSetPaused"
	reasonPartition = "ProgressPartitionAvailable"
	reasonExceeded  = "ProgressDeadlineExceeded"
	reasonUpdated   = "CloneSetUpdated"
)

// noDeadline is the value of progressDeadlineSeconds that means no deadline. A Deployment of Kubernetes uses the same value.
const noDeadline = math.MaxInt32

// deadline returns the progress deadline, and whether one is set.
func (p *planner) deadline() (time.Duration, bool) {
	seconds := p.set.Spec.ProgressDeadlineSeconds
	if seconds == nil || *seconds == noDeadline {
		return 0, false
	}
	return time.Duration(*seconds) * time.Second, true
}

// progressing sets the condition Progressing in a new status. Its lastUpdateTime is the time of the last progress, from which
// the deadline counts. Progress after the deadline does not reset the condition. A new revision, a pause and the end of the
// update do.
func (p *planner) progressing(status *v1beta1.CloneSetStatus, now metav1.Time) {
	status.Conditions = slices.Clone(status.Conditions)
	index := slices.IndexFunc(status.Conditions, isProgressing)
	deadline, on := p.deadline()
	switch {
	case !on && index < 0:
		return
	// The user removed the deadline, so the condition would never change again.
	case !on:
		status.Conditions = slices.Delete(status.Conditions, index, index+1)
		return
	// The first condition has no status and no reason. The comparisons below therefore see a change and set its times.
	case index < 0:
		status.Conditions = append(status.Conditions, v1beta1.CloneSetCondition{Type: v1beta1.CloneSetConditionProgressing})
		index = len(status.Conditions) - 1
	}
	before := status.Conditions[index]
	after := before
	advanced, restarted := advanced(&p.set.Status, status), p.set.Status.UpdateRevision != status.UpdateRevision
	// Only a rollout that was progressing can become late. The first pass after a pause or after the end of a rollout starts the
	// deadline anew.
	late := before.Reason == reasonUpdated && now.Sub(before.LastUpdateTime.Time) > deadline && !advanced && !onDelete(p.set)
	after.Status, after.Reason, after.Message = p.verdict(status, late || before.Reason == reasonExceeded && !restarted)
	if after.Status != before.Status {
		after.LastTransitionTime = now
	}
	// Progress moves the time from which the deadline counts. If the condition is already exceeded, its time says when that happened.
	if advanced && after.Reason != reasonExceeded || after.Status != before.Status || after.Reason != before.Reason {
		after.LastUpdateTime = now
	}
	status.Conditions[index] = after
}

// verdict returns what the condition says about a rollout. exceeded is true if the rollout exceeded its deadline. The order matters:
// a rollout that is complete, paused or at its partition waits for nothing, so it is never late.
func (p *planner) verdict(status *v1beta1.CloneSetStatus, exceeded bool) (progressing corev1.ConditionStatus, reason, message string) {
	switch {
	case p.complete(status):
		return corev1.ConditionTrue, reasonAvailable, "CloneSet is available"
	case p.rolling.Paused:
		return corev1.ConditionTrue, reasonPaused, "CloneSet is paused"
	case int(status.ExpectedUpdatedReplicas) < p.Replicas && status.ExpectedUpdatedReplicas <= status.UpdatedAvailableReplicas:
		return corev1.ConditionTrue, reasonPartition, "CloneSet has been paused due to partition ready"
	case exceeded:
		return corev1.ConditionFalse, reasonExceeded, fmt.Sprintf("CloneSet revision %s has timed out progressing", status.UpdateRevision)
	default:
		return corev1.ConditionTrue, reasonUpdated, "CloneSet is progressing"
	}
}

func isProgressing(c v1beta1.CloneSetCondition) bool {
	return c.Type == v1beta1.CloneSetConditionProgressing
}

// complete reports whether every Pod is updated and available. The current revision follows the update revision only when all Pods
// are updated, so both are compared.
func (p *planner) complete(status *v1beta1.CloneSetStatus) bool {
	replicas := int32(p.Replicas)
	return status.Replicas == replicas && status.UpdatedAvailableReplicas == replicas && status.CurrentRevision == status.UpdateRevision
}

// advanced reports whether a rollout made progress between two statuses, or a new rollout began. A count that falls because Pods were
// lost is no progress. Fewer outdated Pods are, because an update by recreation deletes them before their replacements exist.
func advanced(before, after *v1beta1.CloneSetStatus) bool {
	return before.UpdateRevision != after.UpdateRevision ||
		after.UpdatedReplicas > before.UpdatedReplicas || after.UpdatedReadyReplicas > before.UpdatedReadyReplicas ||
		after.UpdatedAvailableReplicas > before.UpdatedAvailableReplicas ||
		after.Replicas-after.UpdatedReplicas < before.Replicas-before.UpdatedReplicas
}

// deadlineIn returns the time until a rollout without progress exceeds its deadline, or zero if no deadline applies. Times in a
// status have whole seconds, so one second is added. No deadline applies under OnDelete, because only the user replaces Pods. Without
// this delay, no event would start the pass that reports a deadline: a rollout without progress has no events. It is never shorter
// than one second, so a deadline that has just passed does not cause passes without a pause.
func (p *planner) deadlineIn(status *v1beta1.CloneSetStatus) time.Duration {
	deadline, on := p.deadline()
	index := slices.IndexFunc(status.Conditions, isProgressing)
	if !on || onDelete(p.set) || index < 0 || status.Conditions[index].Reason != reasonUpdated {
		return 0
	}
	return max(time.Second, status.Conditions[index].LastUpdateTime.Add(deadline+time.Second).Sub(p.Now))
}
