package cloneset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/health"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/rollout"
)

// status computes the status from what the pass observed and from the outcome of its plan. A pass that stopped early does not count as
// having observed the generation: clients that wait for it find surplus Pods deleted, and the first Pods of a new template chosen.
func (p *planner) status(outcome *engine.Outcome) v1beta1.CloneSetStatus {
	old := &p.set.Status
	status := v1beta1.CloneSetStatus{
		ObservedGeneration: old.ObservedGeneration, Replicas: int32(len(p.Pods)), LabelSelector: p.Selector.String(),
		UpdateRevision: p.Update.Name, CurrentRevision: p.Current.Name, CollisionCount: outcome.CollisionCount,
	}
	if outcome.Complete {
		status.ObservedGeneration = p.set.Generation
	}
	for _, pod := range p.Pods {
		updated, ready, available := p.Updated(pod), p.Ready(pod), p.Available(pod)
		status.ReadyReplicas += int32(one(ready))
		status.AvailableReplicas += int32(one(available))
		status.UpdatedReplicas += int32(one(updated))
		status.UpdatedReadyReplicas += int32(one(updated && ready))
		status.UpdatedAvailableReplicas += int32(one(updated && available))
	}
	// An error is already reported by the plan as a failed update.
	if partition, err := rollout.Partition(p.rolling.Partition, p.Replicas); err == nil {
		status.ExpectedUpdatedReplicas = int32(p.Replicas - partition)
	}
	// Times in a status have whole seconds, so a computed time equals the one that was stored.
	now := metav1.NewTime(p.Now).Rfc3339Copy()
	status.Conditions = slices.Clone(old.Conditions)
	// A pass that stopped before scaling knows nothing about it, so it leaves the condition as it is.
	if outcome.ScaleDecided || outcome.Scale != nil {
		status.Conditions = failure(old.Conditions, v1beta1.CloneSetConditionFailedScale, outcome.Scale, now)
	}
	if outcome.UpdatesDecided || outcome.Update != nil {
		status.Conditions = failure(status.Conditions, v1beta1.CloneSetConditionFailedUpdate, outcome.Update, now)
	}
	p.progressing(&status, now)
	// The conditions Reconciling and Stalled are derived from the new status, so they come last.
	judged := *p.set
	judged.Status = status
	status.Conditions = conditions.Set(status.Conditions, kinds.ProgressOf(&judged), now)
	return status
}

// conditions gives access to conditions of CloneSets.
var conditions = health.Conditions[v1beta1.CloneSetCondition]{
	New: func(conditionType string, now metav1.Time) v1beta1.CloneSetCondition {
		return v1beta1.CloneSetCondition{
			Type: v1beta1.CloneSetConditionType(conditionType), Status: corev1.ConditionTrue, LastUpdateTime: now, LastTransitionTime: now,
		}
	},
	Fields: func(c *v1beta1.CloneSetCondition) (conditionType string, reason, message *string) {
		return string(c.Type), &c.Reason, &c.Message
	},
}

// failure sets or clears a condition that reports an error. An unchanged condition keeps its times. A new message of a lasting
// failure is written at most once in RewordAfter.
func failure(conditions []v1beta1.CloneSetCondition, conditionType v1beta1.CloneSetConditionType, err error,
	now metav1.Time) []v1beta1.CloneSetCondition {
	kept := slices.Clone(conditions)
	index := slices.IndexFunc(kept, func(c v1beta1.CloneSetCondition) bool { return c.Type == conditionType })
	if err == nil {
		if index < 0 {
			return kept
		}
		return slices.Delete(kept, index, index+1)
	}
	condition := v1beta1.CloneSetCondition{
		Type: conditionType, Status: corev1.ConditionTrue, LastUpdateTime: now, LastTransitionTime: now, Message: controller.FailureMessage(err),
	}
	if index < 0 {
		return append(kept, condition)
	}
	before := kept[index]
	if before.Status == condition.Status {
		// A negative age comes from a clock that was set back. The message is then written, so the time is correct again.
		if age := now.Sub(before.LastUpdateTime.Time); before.Message == condition.Message || age >= 0 && age < controller.RewordAfter {
			return kept
		}
		condition.LastTransitionTime = before.LastTransitionTime
	}
	kept[index] = condition
	return kept
}

// sameStatus compares semantically, so a nil list equals an empty one.
func sameStatus(a, b *v1beta1.CloneSetStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }

// urgent reports whether a status must not wait: it says more than other counts, or the counts are those of the end.
func urgent(set *v1beta1.CloneSet, status *v1beta1.CloneSetStatus) bool {
	return !onlyCountsDiffer(&set.Status, status) || settledCounts(set, status)
}

// onlyCountsDiffer reports whether two statuses are equal except for the numbers of Pods and the conditions that are derived from
// them.
func onlyCountsDiffer(before, after *v1beta1.CloneSetStatus) bool {
	counted := *after
	counted.Replicas, counted.ReadyReplicas, counted.AvailableReplicas = before.Replicas, before.ReadyReplicas, before.AvailableReplicas
	counted.UpdatedReplicas, counted.UpdatedReadyReplicas = before.UpdatedReplicas, before.UpdatedReadyReplicas
	counted.UpdatedAvailableReplicas = before.UpdatedAvailableReplicas
	// The conditions that sum up the counts do not say more than the counts.
	known := *before
	known.Conditions, counted.Conditions = conditions.Others(before.Conditions), conditions.Others(after.Conditions)
	return sameStatus(&known, &counted)
}

// settledCounts reports whether the rollout has reached the end that the partition sets. This status must not wait, because users and
// tools wait for it.
func settledCounts(set *v1beta1.CloneSet, status *v1beta1.CloneSetStatus) bool {
	wanted := int32(replicasOf(set))
	return status.Replicas == wanted && status.AvailableReplicas == wanted && status.UpdatedAvailableReplicas >= status.ExpectedUpdatedReplicas
}
