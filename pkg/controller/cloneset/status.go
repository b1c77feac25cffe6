package cloneset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/podstate"
	"kruise.io/kruise/pkg/workload/rollout"
)

// outcome is what went wrong in a pass; nil is well.
type outcome struct {
	scale, update error
	// decided is true when the pass came as far as to decide on updates, so that no error means that there is none any more.
	decided bool
}

// status computes what the view shows.
func (v *view) status(selector string, result outcome, collisionCount *int32) v1beta1.CloneSetStatus {
	old := &v.set.Status
	status := v1beta1.CloneSetStatus{
		ObservedGeneration: v.set.Generation, Replicas: int32(len(v.pods)), LabelSelector: selector,
		UpdateRevision: v.update.Name, CurrentRevision: v.current.Name, CollisionCount: collisionCount,
	}
	for _, pod := range v.pods {
		updated, ready, available := v.updated(pod), podstate.Ready(pod), v.available(pod)
		status.ReadyReplicas += int32(one(ready))
		status.AvailableReplicas += int32(one(available))
		status.UpdatedReplicas += int32(one(updated))
		status.UpdatedReadyReplicas += int32(one(updated && ready))
		status.UpdatedAvailableReplicas += int32(one(updated && available))
	}
	if partition, err := rollout.Partition(v.rolling().Partition, v.replicas()); err == nil {
		status.ExpectedUpdatedReplicas = int32(v.replicas() - partition)
	}
	if v.rolledOut() {
		status.CurrentRevision = status.UpdateRevision
	}
	now := metav1.NewTime(v.now).Rfc3339Copy()
	status.Conditions = failed(old.Conditions, v1beta1.CloneSetConditionFailedScale, result.scale, now)
	if result.decided || result.update != nil {
		status.Conditions = failed(status.Conditions, v1beta1.CloneSetConditionFailedUpdate, result.update, now)
	}
	v.progressing(&status, now)
	return status
}

// failed sets or clears a condition that says what failed. What did not change keeps its times.
func failed(conditions []v1beta1.CloneSetCondition, conditionType v1beta1.CloneSetConditionType, err error,
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
		Type: conditionType, Status: corev1.ConditionTrue, LastUpdateTime: now, LastTransitionTime: now, Message: message(err),
	}
	if index < 0 {
		return append(kept, condition)
	}
	before := kept[index]
	if before.Status == condition.Status {
		if age := now.Sub(before.LastUpdateTime.Time); before.Message == condition.Message || age >= 0 && age < rewordAfter {
			return kept
		}
		condition.LastTransitionTime = before.LastTransitionTime
	}
	kept[index] = condition
	return kept
}

const (
	// rewordAfter is how long a condition keeps the words of its first error. The same failure comes in other words each time,
	// with the name of a Pod that could not be created or the port of a connection that broke, and each write of a status
	// brings the CloneSet back to us at once: without this, a failure that lasts would never wait between two tries.
	rewordAfter = 30 * time.Second
	// maxMessage bounds what a condition says when a thousand Pods fail at once.
	maxMessage = 1024
)

// message is the error in words that fit into a status.
func message(err error) string {
	text := err.Error()
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + fmt.Sprintf(" … (%d bytes more)", len(text)-maxMessage)
}

func sameStatus(a, b *v1beta1.CloneSetStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }
