package ephemeraljob

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/delay"
)

// verdict is the result of a job so far.
type verdict struct {
	phase v1alpha1.EphemeralJobPhase
	// finished is true if the job does nothing more.
	finished bool
	// condition is added to the status if its type is set.
	condition v1alpha1.EphemeralJobCondition
}

// status returns the status of a job. Conditions keep their times until they change. It edits the fresh object's status, so it also
// runs again after a conflict.
func status(job *v1alpha1.EphemeralJob, seen *observation, now time.Time) v1alpha1.EphemeralJobStatus {
	moment := metav1.NewTime(now).Rfc3339Copy()
	result := *job.Status.DeepCopy()
	result.Match, result.Waiting, result.Running = seen.match, seen.waiting, seen.running
	result.Succeeded, result.Failed = seen.succeeded, seen.failed
	// The deadline counts from the first pass, not from the creation.
	if result.StartTime == nil {
		result.StartTime = &moment
	}
	setCondition(&result, condition(v1alpha1.EJobInitialized, "JobInitialized", "the job has started"), moment)
	v := judge(job, seen, now)
	result.Phase = v.phase
	if v.finished {
		result.CompletionTime = &moment
	}
	// A condition is only present while it is true.
	result.Conditions = slices.DeleteFunc(result.Conditions, func(c v1alpha1.EphemeralJobCondition) bool {
		return c.Type != v1alpha1.EJobInitialized && c.Type != v.condition.Type
	})
	if v.condition.Type != "" {
		setCondition(&result, v.condition, moment)
	}
	return result
}

// judge decides the phase. An empty template is an error, whatever the Pods show.
func judge(job *v1alpha1.EphemeralJob, seen *observation, now time.Time) verdict {
	if len(job.Spec.Template.EphemeralContainers) == 0 {
		return verdict{phase: v1alpha1.EphemeralJobError, condition: condition(v1alpha1.EJobError, "Error",
			"job spec invalid fields. spec.template.ephemeralContainers is empty; create another EphemeralJob with containers")}
	}
	// Completion comes before the pause and the deadline: a job whose Pods have all ended is finished in any case.
	v := progress(seen, ptr.Deref(job.Spec.Replicas, seen.match))
	if v.finished {
		return v
	}
	if job.Spec.Paused {
		v.phase = v1alpha1.EphemeralJobPaused
		return v
	}
	if left, limited := timeLeft(job, now); !limited || left > 0 {
		return v
	}
	// After the deadline, Pods that never appeared do not count.
	if final := progress(seen, seen.match); final.finished && final.phase == v1alpha1.EphemeralJobSucceeded {
		return final
	}
	// Containers that still run go on: they cannot be removed.
	return failure("DeadlineExceeded", fmt.Sprintf("EphemeralJob %s/%s was active longer than specified deadline", job.Namespace, job.Name))
}

// progress decides the phase of a job that wants the containers in a number of Pods. The order of the cases matters: while a
// container runs, the job is not failed yet, even if others failed.
func progress(seen *observation, wanted int32) verdict {
	switch {
	case seen.match == 0 && seen.taken > 0:
		return verdict{phase: v1alpha1.EphemeralJobWaiting, condition: condition(v1alpha1.EJobMatchedEmpty, "MatchEmpty", fmt.Sprintf(
			"job match no pods; %d matching Pods are static, or have a container of the same name already, and containers of a Pod cannot be "+
				"removed; create another EphemeralJob whose containers have other names", seen.taken))}
	case seen.match == 0:
		return verdict{phase: v1alpha1.EphemeralJobWaiting, condition: condition(v1alpha1.EJobMatchedEmpty, "MatchEmpty", "job match no pods")}
	case seen.succeeded == wanted:
		return verdict{phase: v1alpha1.EphemeralJobSucceeded, finished: true,
			condition: condition(v1alpha1.EJobSucceeded, "JobSucceeded", "job success to run all tasks")}
	case seen.running > 0:
		return verdict{phase: v1alpha1.EphemeralJobRunning}
	case seen.failed == wanted:
		return failure("JobFailed", "job failed to run all tasks")
	case seen.succeeded+seen.failed == wanted:
		return failure("JobFailed", fmt.Sprintf("containers failed in %d of %d Pods", seen.failed, wanted))
	case seen.waiting == wanted:
		return verdict{phase: v1alpha1.EphemeralJobWaiting}
	}
	return verdict{phase: v1alpha1.EphemeralJobUnknown}
}

// failure returns the verdict of a job that ends without success.
func failure(reason, message string) verdict {
	return verdict{phase: v1alpha1.EphemeralJobFailed, finished: true, condition: condition(v1alpha1.EJobFailed, reason, message)}
}

func condition(kind v1alpha1.EphemeralJobConditionType, reason, message string) v1alpha1.EphemeralJobCondition {
	return v1alpha1.EphemeralJobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}
}

// setCondition adds a condition, or replaces one that says something else. A condition that says the same keeps its times, so the
// status does not change in each pass.
func setCondition(status *v1alpha1.EphemeralJobStatus, wanted v1alpha1.EphemeralJobCondition, now metav1.Time) {
	wanted.LastProbeTime, wanted.LastTransitionTime = now, now
	for i := range status.Conditions {
		current := &status.Conditions[i]
		if current.Type != wanted.Type {
			continue
		}
		if current.Reason != wanted.Reason || current.Message != wanted.Message || current.Status != wanted.Status {
			*current = wanted
		}
		return
	}
	status.Conditions = append(status.Conditions, wanted)
}

// timeLeft returns the time until the deadline of a job, and whether the job has started and has one.
func timeLeft(job *v1alpha1.EphemeralJob, now time.Time) (left time.Duration, limited bool) {
	if job.Spec.ActiveDeadlineSeconds == nil || job.Status.StartTime == nil {
		return 0, false
	}
	return job.Status.StartTime.Add(delay.Seconds(*job.Spec.ActiveDeadlineSeconds)).Sub(now), true
}
