package broadcastjob

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/engine"
)

// decided returns the condition by which an earlier pass decided how the job ends, or nil.
func decided(status *v1beta1.BroadcastJobStatus) *v1beta1.JobCondition {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if (c.Type == v1beta1.JobSuccessCriteriaMet || c.Type == v1beta1.JobFailureTarget) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// end decides how the job ends. If Pods remain, the decision and the counts are only stored: what the decision follows from, such as
// restarts, is lost with the Pods. The write starts the next pass, which deletes them.
func (v *verdict) end(why v1beta1.JobCondition, job *v1beta1.BroadcastJob, view *engine.View, c *census) {
	if len(view.Pods) > 0 {
		v.setCondition(why)
		return
	}
	v.carryOut(why, job, view, c)
}

// carryOut deletes the remaining Pods and ends the job. The counts in the status are those of the decision. The Pods that were counted
// then and did not succeed failed, also those that are deleted. The exception is an active Pod of a job that completes: the job is
// not to run on its node any more, so it does not count.
func (v *verdict) carryOut(why v1beta1.JobCondition, job *v1beta1.BroadcastJob, view *engine.View, c *census) {
	v.plan, v.finish = deleteAll(view.Pods), true
	fails := why.Type == v1beta1.JobFailureTarget
	counted := v.status.Succeeded + v.status.Failed
	if fails {
		counted += v.status.Active
	}
	// A Pod can succeed until it is deleted.
	v.status.Succeeded = max(v.status.Succeeded, int32(c.counts[succeeded]))
	v.status.Failed, v.status.Active = max(0, counted-v.status.Succeeded), 0

	counts := fmt.Sprintf("%d pods succeeded, %d pods failed", v.status.Succeeded, v.status.Failed)
	final, message := v1beta1.JobComplete, "Job completed, "+counts
	told := event{corev1.EventTypeNormal, why.Reason, fmt.Sprintf("Job %s/%s is completed, %s", job.Namespace, job.Name, counts)}
	v.status.Phase = v1beta1.BroadcastJobCompleted
	if fails {
		final, message = v1beta1.JobFailed, why.Message
		told = event{corev1.EventTypeWarning, why.Reason, why.Message + ": " + counts}
		v.status.Phase = v1beta1.BroadcastJobFailed
	}
	now := metav1.NewTime(view.Now)
	v.status.CompletionTime, v.events = &now, append(v.events, told)
	v.status.Conditions = slices.DeleteFunc(v.status.Conditions, func(c v1beta1.JobCondition) bool { return c.Type == why.Type })
	v.setCondition(condition(final, string(final), message, now))
}

// setCondition sets a condition in place of one of the same type.
func (v *verdict) setCondition(set v1beta1.JobCondition) {
	v.status.Conditions = slices.DeleteFunc(v.status.Conditions, func(c v1beta1.JobCondition) bool { return c.Type == set.Type })
	v.status.Conditions = append(v.status.Conditions, set)
}

// condition returns a condition with status True.
func condition(conditionType v1beta1.JobConditionType, reason, message string, now metav1.Time) v1beta1.JobCondition {
	return v1beta1.JobCondition{
		Type: conditionType, Status: corev1.ConditionTrue, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message,
	}
}
