package uniteddeployment

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/health"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Reasons of conditions.
const (
	reasonError    = "Error"
	reasonUpdating = "UnitedDeploymentRevisionUpdating"
	reasonUpdated  = "UnitedDeploymentRevisionUpdated"
)

// failures are the errors of the parts of a pass. Each has a condition. A failed allocation is shown in the same condition as a failed
// provision.
type failures struct{ allocation, provision, update error }

// conditionIn returns the condition of a type, or nil. The result points into the given slice.
func conditionIn(
	conditions []v1beta1.UnitedDeploymentCondition, conditionType v1beta1.UnitedDeploymentConditionType,
) *v1beta1.UnitedDeploymentCondition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}

// status returns the status after a pass. Counts of replicas come from the statuses of the workloads, counts by revision from the Pods
// in the cache. The two sources can differ for a moment.
func (p *pass) status(failed failures) *v1beta1.UnitedDeploymentStatus {
	before := &p.united.Status
	status := &v1beta1.UnitedDeploymentStatus{
		ObservedGeneration: p.united.Generation, CollisionCount: p.collisions, UpdatedRevision: p.update.Name,
		Conditions: slices.Clone(before.Conditions), LabelSelector: p.selector(),
	}
	for _, s := range p.subsets {
		of := s.status(p)
		status.SubsetStatuses = append(status.SubsetStatuses, of)
		// Reserved Pods have substitutes that count, so they are counted apart.
		status.Replicas += s.counts().replicas - s.reserved
		status.ReadyReplicas += of.ReadyReplicas
		status.ReservedPods += of.ReservedPods
		for _, pod := range s.pods {
			if pod.Labels[pub.KruiseControllerRevisionHashKey] != p.label {
				continue
			}
			status.UpdatedReplicas++
			if podstate.Ready(pod) {
				status.UpdatedReadyReplicas++
			}
		}
	}
	// The Pods of the cache can be newer than the statuses of the workloads.
	status.Replicas = max(0, status.Replicas)
	status.CurrentRevision = p.currentRevision(status.UpdatedReadyReplicas)
	p.conditions(status, failed)
	return status
}

// podsOf returns how many Pods a status counts. The pace depends on this number, because a pass looks at each Pod.
func podsOf(status *v1beta1.UnitedDeploymentStatus) int {
	return int(status.Replicas + status.ReservedPods)
}

// urgent reports whether a status must not wait for the pace: it says more than other counts, or the counts are those of the end.
// Counts that change on the way are soon replaced, but a user or a script may wait for the end.
func (p *pass) urgent(status *v1beta1.UnitedDeploymentStatus) bool {
	if status.Replicas == p.total && status.ReadyReplicas == p.total && status.UpdatedReadyReplicas == p.total {
		return true
	}
	before, counted := p.united.Status, status.DeepCopy()
	// The conditions that sum up the counts do not say more than the counts.
	before.Conditions, counted.Conditions = conditions.Others(before.Conditions), conditions.Others(counted.Conditions)
	counted.Replicas, counted.ReadyReplicas = before.Replicas, before.ReadyReplicas
	counted.UpdatedReplicas, counted.UpdatedReadyReplicas = before.UpdatedReplicas, before.UpdatedReadyReplicas
	for i := range min(len(counted.SubsetStatuses), len(before.SubsetStatuses)) {
		counted.SubsetStatuses[i].ReadyReplicas = before.SubsetStatuses[i].ReadyReplicas
	}
	return !apiequality.Semantic.DeepEqual(&before, counted)
}

// currentRevision returns the last revision to which all Pods were updated. A UnitedDeployment without one is new, so that its first
// revision is current from the start.
func (p *pass) currentRevision(updatedReady int32) string {
	current := p.united.Status.CurrentRevision
	if current == "" || updatedReady >= p.total {
		return p.update.Name
	}
	return current
}

// status returns the status of a subset. The partition is what the workload really does: with the strategy OnDelete, all Pods that the
// user has not deleted yet stay at the old revision, and a kind without partitions keeps none.
func (s *subset) status(p *pass) v1beta1.UnitedDeploymentSubsetStatus {
	status := v1beta1.UnitedDeploymentSubsetStatus{
		Name: s.Name, Replicas: s.replicas, ReadyReplicas: s.counts().ready, Partition: s.partition, ReservedPods: s.reserved,
	}
	// The count is that of this moment: it decreases as the user deletes Pods.
	if s.child != nil && s.child.adapter == p.using && s.child.onDelete() {
		status.Partition = 0
		for _, pod := range s.pods {
			if pod.Labels[pub.KruiseControllerRevisionHashKey] != p.label {
				status.Partition++
			}
		}
	}
	if p.using != nil && p.using.unpartitioned {
		status.Partition = 0
	}
	if s.schedulable != nil {
		status.Conditions = []v1beta1.UnitedDeploymentSubsetCondition{*s.schedulable}
	}
	return status
}

// onDelete reports whether the workload updates a Pod only when the user deletes it: its kind has a partition, but its strategy has
// none.
func (c *child) onDelete() bool { return c.partition == nil && !c.unpartitioned }

// selector returns the selector of the Pods that count, for the scale subresource. With a reservation it excludes reserved Pods, so
// that an autoscaler does not see the Pods that cannot run.
func (p *pass) selector() string {
	selector := metav1.FormatLabelSelector(p.united.Spec.Selector)
	if p.reserves() {
		selector += "," + pub.ReservedPodKey + "=false"
	}
	return selector
}

// conditions sets the conditions of a status. SubsetProvisioned and SubsetUpdated are always present, and SubsetFailure only while
// something fails.
func (p *pass) conditions(status *v1beta1.UnitedDeploymentStatus, failed failures) {
	// A condition without an error has no reason and no message.
	byError := func(conditionType v1beta1.UnitedDeploymentConditionType, err error) {
		condition := v1beta1.UnitedDeploymentCondition{Type: conditionType, Status: corev1.ConditionTrue}
		if err != nil {
			condition.Status, condition.Reason, condition.Message = corev1.ConditionFalse, reasonError, controller.FailureMessage(err)
		}
		status.Conditions = p.setCondition(status.Conditions, &condition)
	}
	provisioned := errors.Join(failed.allocation, failed.provision)
	byError(v1beta1.SubsetProvisioned, provisioned)
	byError(v1beta1.SubsetUpdated, failed.update)
	failure := errors.Join(provisioned, failed.update)
	if failure != nil {
		status.Conditions = p.setCondition(status.Conditions, &v1beta1.UnitedDeploymentCondition{
			Type: v1beta1.SubsetFailure, Status: corev1.ConditionTrue, Reason: reasonError, Message: controller.FailureMessage(failure),
		})
	} else {
		status.Conditions = slices.DeleteFunc(status.Conditions, func(c v1beta1.UnitedDeploymentCondition) bool {
			return c.Type == v1beta1.SubsetFailure
		})
	}
	updated := v1beta1.UnitedDeploymentCondition{
		Type: v1beta1.UnitedDeploymentUpdated, Status: corev1.ConditionTrue, Reason: reasonUpdated,
		Message: "updated to revision " + p.update.Name,
	}
	// The time of this condition says when the update began. updateLate reads it.
	if status.CurrentRevision != p.update.Name {
		updated.Status, updated.Reason, updated.Message = corev1.ConditionFalse, reasonUpdating, "updating to revision "+p.update.Name
	}
	status.Conditions = p.setCondition(status.Conditions, &updated)
	status.Conditions = conditions.Set(status.Conditions, p.progress(status), metav1.NewTime(p.now).Rfc3339Copy())
}

// conditions gives access to conditions of UnitedDeployments.
var conditions = health.Conditions[v1beta1.UnitedDeploymentCondition]{
	New: func(conditionType string, now metav1.Time) v1beta1.UnitedDeploymentCondition {
		return v1beta1.UnitedDeploymentCondition{
			Type: v1beta1.UnitedDeploymentConditionType(conditionType), Status: corev1.ConditionTrue, LastTransitionTime: now,
		}
	},
	Fields: func(c *v1beta1.UnitedDeploymentCondition) (conditionType string, reason, message *string) {
		return string(c.Type), &c.Reason, &c.Message
	},
}

// progress returns how far the subsets together are. The status does not count available Pods, so that ready Pods count instead.
func (p *pass) progress(status *v1beta1.UnitedDeploymentStatus) *kinds.Progress {
	progress := &kinds.Progress{
		Updated: int(status.UpdatedReplicas), Available: int(status.UpdatedReadyReplicas),
		Wanted: int(p.total), Existing: int(status.Replicas), Serving: int(status.ReadyReplicas),
	}
	progress.Target = progress.Wanted
	for i := range status.SubsetStatuses {
		of := &status.SubsetStatuses[i]
		progress.Target -= int(min(of.Partition, of.Replicas))
	}
	return progress
}

// setCondition returns the conditions with one of them set. Its time moves only with its status. The message of a lasting failure
// differs at each attempt, and is written only once in a while: otherwise retries would never back off.
func (p *pass) setCondition(
	conditions []v1beta1.UnitedDeploymentCondition, condition *v1beta1.UnitedDeploymentCondition,
) []v1beta1.UnitedDeploymentCondition {
	// The conditions are a copy of the stored ones, so they may be changed.
	before := conditionIn(conditions, condition.Type)
	if before == nil {
		condition.LastTransitionTime = metav1.NewTime(p.now)
		return append(conditions, *condition)
	}
	condition.LastTransitionTime = metav1.NewTime(p.now)
	if before.Status == condition.Status {
		condition.LastTransitionTime = before.LastTransitionTime
		lasts := before.Reason == reasonError && condition.Reason == reasonError
		if lasts && before.Message != condition.Message && !p.reword(before.LastTransitionTime.Time) {
			condition.Message = before.Message
		}
	}
	*before = *condition
	return conditions
}
