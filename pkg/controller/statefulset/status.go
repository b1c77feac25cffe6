package statefulset

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/health"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

// status computes the status from what the pass observed and from the outcome of its plan. It reads the stored status only for
// conditions.
func (p *planner) status(outcome *engine.Outcome, reword func(since time.Time) bool) v1beta1.StatefulSetStatus {
	status := v1beta1.StatefulSetStatus{
		ObservedGeneration: p.set.Generation, LabelSelector: p.Selector.String(), UpdateRevision: p.Update.Name,
		CurrentRevision: p.Current.Name, CollisionCount: outcome.CollisionCount, VolumeClaims: p.claimStatus(),
	}
	for i := range p.slots {
		if pod := p.slots[i].pod; pod != nil {
			p.count(&status, pod)
		}
	}
	// Pods out of range count as long as they exist, as in Kubernetes.
	for _, pod := range p.condemned {
		p.count(&status, pod)
	}
	// The current revision changes in the status only. The next pass reads it from there, as the StatefulSet controller of Kubernetes
	// does.
	if p.rolledOut(&status) {
		status.CurrentRevision, status.CurrentReplicas = status.UpdateRevision, status.UpdatedReplicas
	}
	// Times in a status have whole seconds, so a computed time equals the one that was stored.
	now := metav1.NewTime(p.Now).Rfc3339Copy()
	status.Conditions = slices.Clone(p.set.Status.Conditions)
	// A pass that stopped before scaling knows nothing about it, so it leaves the condition as it is.
	if outcome.ScaleDecided || outcome.Scale != nil {
		status.Conditions = failureCondition(status.Conditions, v1beta1.StatefulSetConditionFailedCreatePod, outcome.Scale, now, reword)
	}
	if outcome.UpdatesDecided || outcome.Update != nil {
		status.Conditions = failureCondition(status.Conditions, v1beta1.StatefulSetConditionFailedUpdatePod, outcome.Update, now, reword)
	}
	// The conditions Reconciling and Stalled are derived from the new status, so they come last.
	judged := *p.set
	judged.Status = status
	status.Conditions = conditions.Set(status.Conditions, kinds.ProgressOf(&judged), now)
	return status
}

// conditions gives access to conditions of StatefulSets.
var conditions = health.Conditions[appsv1.StatefulSetCondition]{
	New: func(conditionType string, now metav1.Time) appsv1.StatefulSetCondition {
		return appsv1.StatefulSetCondition{
			Type: appsv1.StatefulSetConditionType(conditionType), Status: corev1.ConditionTrue, LastTransitionTime: now,
		}
	},
	Fields: func(c *appsv1.StatefulSetCondition) (conditionType string, reason, message *string) {
		return string(c.Type), &c.Reason, &c.Message
	},
}

// count adds a Pod to the numbers of the status. As in StatefulSets of Kubernetes, a terminating Pod is ready until it stops.
func (p *planner) count(status *v1beta1.StatefulSetStatus, pod *corev1.Pod) {
	updated := p.Updated(pod)
	ready := p.Ready(pod)
	available := ready && podstate.Available(pod, p.MinReadySeconds, p.Now)
	status.Replicas++
	status.ReadyReplicas += one(ready)
	status.AvailableReplicas += one(available)
	status.UpdatedReadyReplicas += one(ready && updated)
	status.UpdatedAvailableReplicas += one(available && updated)
	if pod.DeletionTimestamp == nil {
		status.CurrentReplicas += one(p.At(pod, p.Current))
		status.UpdatedReplicas += one(updated)
	}
}

// one returns 1 for true and 0 for false.
func one(condition bool) int32 {
	if condition {
		return 1
	}
	return 0
}

// rolledOut reports whether all wanted Pods exist, are updated and are ready. Under OnDelete the answer is false: the current
// revision then stays what it was when the strategy changed.
func (p *planner) rolledOut(status *v1beta1.StatefulSetStatus) bool {
	return !onDelete(p.set) && int(status.Replicas) == p.Replicas && status.UpdatedReplicas == status.Replicas &&
		status.ReadyReplicas == status.Replicas
}

// claimStatus counts the claims of the Pods in range that fit their templates. Ready means that the volume has its size, not only the
// request.
func (p *planner) claimStatus() (all []v1beta1.VolumeClaimStatus) {
	for i := range p.set.Spec.VolumeClaimTemplates {
		template := &p.set.Spec.VolumeClaimTemplates[i]
		status := v1beta1.VolumeClaimStatus{VolumeClaimName: template.Name}
		for j := range p.slots {
			claim := p.Claim(claimName(p.set, template, p.slots[j].ordinal))
			// A claim that is being deleted is replaced by one at the new size.
			if claim == nil || claim.DeletionTimestamp != nil || !compatible(claim, template) {
				continue
			}
			status.CompatibleReplicas++
			status.CompatibleReadyReplicas += one(full(claim))
		}
		all = append(all, status)
	}
	return all
}

// failureCondition sets or clears a condition that reports an error. An unchanged condition keeps its time. reword reports whether the
// new message of a condition with this time may be written. The message of a lasting failure differs at each attempt. If each were
// written, its retries would never back off.
func failureCondition(conditions []appsv1.StatefulSetCondition, conditionType appsv1.StatefulSetConditionType, err error,
	now metav1.Time, reword func(since time.Time) bool) []appsv1.StatefulSetCondition {
	index := slices.IndexFunc(conditions, func(c appsv1.StatefulSetCondition) bool { return c.Type == conditionType })
	if err == nil {
		if index < 0 {
			return conditions
		}
		return slices.Delete(conditions, index, index+1)
	}
	condition := appsv1.StatefulSetCondition{
		Type: conditionType, Status: corev1.ConditionTrue, LastTransitionTime: now, Message: controller.FailureMessage(err),
	}
	if index < 0 {
		return append(conditions, condition)
	}
	if before := &conditions[index]; before.Message != condition.Message && reword(before.LastTransitionTime.Time) {
		before.Message = condition.Message
	}
	return conditions
}

// sameStatus compares semantically, so a nil list equals an empty one.
func sameStatus(a, b *v1beta1.StatefulSetStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }

// urgent reports whether a status must not wait: it says more than other counts, or the counts are those of the end.
func urgent(set *v1beta1.StatefulSet, status *v1beta1.StatefulSetStatus) bool {
	return !onlyCountsDiffer(&set.Status, status) || settledCounts(set, status)
}

// onlyCountsDiffer reports whether two statuses are equal except for the numbers of Pods and the conditions that are derived from
// them.
func onlyCountsDiffer(before, after *v1beta1.StatefulSetStatus) bool {
	counted := *after
	counted.Replicas, counted.ReadyReplicas, counted.AvailableReplicas = before.Replicas, before.ReadyReplicas, before.AvailableReplicas
	counted.CurrentReplicas, counted.UpdatedReplicas = before.CurrentReplicas, before.UpdatedReplicas
	counted.UpdatedReadyReplicas, counted.UpdatedAvailableReplicas = before.UpdatedReadyReplicas, before.UpdatedAvailableReplicas
	// The conditions that sum up the counts do not say more than the counts.
	known := *before
	known.Conditions, counted.Conditions = conditions.Others(before.Conditions), conditions.Others(after.Conditions)
	return sameStatus(&known, &counted)
}

// settledCounts reports whether all wanted Pods exist and are available. This status must not wait, because users and tools wait for
// it.
func settledCounts(set *v1beta1.StatefulSet, status *v1beta1.StatefulSetStatus) bool {
	wanted := int32(replicasOf(set))
	return status.Replicas == wanted && status.AvailableReplicas == wanted
}
