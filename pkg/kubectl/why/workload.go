package why

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/podstate"
)

// workloadCauses are the causes of a workload. The sort is the order in which they hide each other. The last one
// always applies.
var workloadCauses = []Cause{
	{"being deleted", workloadDeleted},
	{"spec not observed", specNotObserved},
	{"creation or deletion fails", conditionFails("FailedScale", "FailedCreatePod")},
	{"complete", complete},
	{"paused", paused},
	{"updated by the user", onDelete},
	{"kept by the partition", partitioned},
	{"budget used up", budgetRefuses},
	{"update fails", conditionFails("FailedUpdate", "FailedUpdatePod")},
	{"a Pod waits", podWaits},
	{"deadline exceeded", deadlineExceeded},
	{"last warning", lastWarning},
	{"in progress", inProgress},
}

// subject names the workload in a sentence.
func (f *Facts) subject() string { return f.Workload.Title + " " + f.Workload.GetName() }

// argument names the workload as a command accepts it.
func (f *Facts) argument() string {
	return f.Workload.Resource + "." + f.Workload.Group + "/" + f.Workload.GetName()
}

// finding returns a finding about the workload.
func (f *Facts) finding(remedy, fact string, args ...any) *Finding {
	return &Finding{Subject: f.subject(), Fact: fmt.Sprintf(fact, args...), Remedy: remedy}
}

func workloadDeleted(f *Facts) *Finding {
	if f.Workload.GetDeletionTimestamp() == nil {
		return nil
	}
	if finalizers := f.Workload.GetFinalizers(); len(finalizers) > 0 {
		return f.finding("wait, or ask who set the finalizer", "is being deleted and has the finalizer %s", finalizers[0])
	}
	return f.finding("wait until its Pods have stopped", "is being deleted")
}

// specNotObserved finds a change that the controller has not observed. A DaemonSet also counts as not observed while its Pods cannot be
// created, which only a warning says.
func specNotObserved(f *Facts) *Finding {
	if f.Progress.Observed {
		return nil
	}
	if len(f.Warnings) > 0 {
		return f.finding("correct the cause, or check that the Pods of kruise-controller-manager in kruise-system run",
			"has a change that the controller has not observed, and a warning: %s", oneLine(f.Warnings[0]))
	}
	return f.finding("check that the Pods of kruise-controller-manager in kruise-system run",
		"has a change that the controller has not observed")
}

// conditionFails finds a condition that reports an error. Refusals of budgets have a cause of their own, which comes
// before the condition FailedUpdate.
func conditionFails(types ...string) func(*Facts) *Finding {
	return func(f *Facts) *Finding {
		for _, condition := range f.Workload.Conditions() {
			for _, wanted := range types {
				if condition.Type == wanted && condition.Status == corev1.ConditionTrue {
					return f.finding("correct the cause; the controller then retries", "has the condition %s: %s", wanted, oneLine(condition.Message))
				}
			}
		}
		return nil
	}
}

// complete finds a rollout with all Pods updated. One that a partition or the user holds back has another cause, and so has one with
// more Pods than wanted, for example while a hook holds the deletion of a Pod.
func complete(f *Facts) *Finding {
	p := f.Progress
	if !p.Done() || p.Partitioned || p.OnDelete && p.Updated < p.Wanted || p.Total > p.Wanted {
		return nil
	}
	return f.finding("there is nothing to do", "is complete: %d of %d Pods are updated and available", p.Updated, p.Wanted)
}

// paused finds a rollout that a pause stops. A pause after all Pods are updated stops nothing.
func paused(f *Facts) *Finding {
	if !f.Progress.Paused || f.Progress.Updated >= f.Progress.Target {
		return nil
	}
	return f.finding("run: kubectl kruise rollout resume "+f.argument(),
		"is paused with %d of %d Pods updated", f.Progress.Updated, f.Progress.Target)
}

func onDelete(f *Facts) *Finding {
	if !f.Progress.OnDelete || f.Progress.Updated >= f.Progress.Target {
		return nil
	}
	return f.finding("delete the old Pods yourself", "has the update strategy OnDelete with %d of %d Pods updated",
		f.Progress.Updated, f.Progress.Wanted)
}

// partitioned finds a rollout that has updated as many Pods as its partition allows.
func partitioned(f *Facts) *Finding {
	p := f.Progress
	if !p.Done() || !p.Partitioned {
		return nil
	}
	return f.finding("lower the partition to update more Pods", "has %d of %d Pods updated, as many as its partition allows",
		p.Target, p.Wanted)
}

// budgetRefuses finds a budget that governs an old Pod and allows no further disruption.
func budgetRefuses(f *Facts) *Finding {
	if f.Progress.Updated >= f.Progress.Target {
		return nil
	}
	for _, pod := range f.Pods {
		budget := f.governing(pod)
		if budget == nil || f.updated(pod) || !podstate.Ready(pod) || budget.Status.UnavailableAllowed > 0 {
			continue
		}
		s := budget.Status
		return f.finding("make Pods available or raise the budget: run kubectl kruise why podunavailablebudget/"+budget.Name,
			"cannot update Pod %s because PodUnavailableBudget %s allows no unavailable Pod: %d are available, %d must be",
			pod.Name, budget.Name, s.CurrentAvailable, s.DesiredAvailable)
	}
	return nil
}

// updated returns true if the Pod has the newest revision.
func (f *Facts) updated(pod *corev1.Pod) bool {
	return history.Matches(pod.Labels[pub.ControllerRevisionHashKey], f.Progress.Revision)
}

// podWaits finds the cause of a Pod. It asks the causes of a Pod with a copy of the facts, because they look at Facts.Pod. The warnings
// of the copy are about the Pod; only those of the first Pod were read.
func podWaits(f *Facts) *Finding {
	for i, pod := range f.unavailable() {
		about := *f
		about.Pod, about.Warnings = pod, nil
		if i == 0 {
			about.Warnings = f.PodWarnings
		}
		if found := first(waiting, &about); found != nil {
			return f.finding(found.Remedy, "waits for %s, which %s", found.Subject, found.Fact)
		}
	}
	return nil
}

// unavailable returns the Pods of a workload that are not available. Updated Pods come first, because a rollout waits for them.
func (f *Facts) unavailable() (pods []*corev1.Pod) {
	for _, updated := range []bool{true, false} {
		for _, pod := range f.Pods {
			available := podstate.Available(pod, f.minReadySeconds(), f.Now) && pod.DeletionTimestamp == nil
			if f.updated(pod) == updated && !available {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// first returns the first cause that the facts show, or nil.
func first(causes []Cause, f *Facts) *Finding {
	for _, cause := range causes {
		if found := cause.Find(f); found != nil {
			return found
		}
	}
	return nil
}

func deadlineExceeded(f *Facts) *Finding {
	if f.Progress.Failed == "" {
		return nil
	}
	return f.finding("run: kubectl kruise rollout undo "+f.argument(), "made no progress before its deadline: %s", oneLine(f.Progress.Failed))
}

func lastWarning(f *Facts) *Finding {
	if len(f.Warnings) == 0 {
		return nil
	}
	return f.finding("correct the cause; the controller then retries", "has a warning: %s", oneLine(f.Warnings[0]))
}

func inProgress(f *Facts) *Finding {
	p := f.Progress
	if p.Total > p.Wanted {
		return f.finding("wait", "deletes Pods: it has %d and wants %d", p.Total, p.Wanted)
	}
	return f.finding("wait", "is in progress: %d of %d Pods are updated, %d are not available", p.Updated, p.Target, p.Missing)
}

// oneLine returns a message as a part of a sentence.
func oneLine(message string) string {
	return strings.TrimRight(strings.Join(strings.Fields(message), " "), ".;: ")
}
