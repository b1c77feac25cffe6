package why

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/workload"
)

// Facts are what was read about an object. Only the part about the asked object is set, and what it refers to.
type Facts struct {
	Now time.Time

	// Workload is the asked workload, or the one that controls the asked Pod.
	Workload *workload.Workload
	Progress workload.Progress
	// Pods are the Pods of the workload or of the budget.
	Pods []*corev1.Pod

	// Pod is the asked Pod.
	Pod *corev1.Pod
	// Budget is the asked budget. Budgets are those of the namespace.
	Budget  *v1beta1.PodUnavailableBudget
	Budgets []*v1beta1.PodUnavailableBudget

	// Warnings are the messages of warnings about the asked object, the newest first. Those about a Pod are not older than its state:
	// see current.
	Warnings []string
	// PodWarnings are the warnings about the first Pod of the workload that is not available.
	PodWarnings []string
}

// Finding is the answer: a sentence in three parts.
type Finding struct {
	// Subject is what the fact is about, for example "CloneSet web".
	Subject string
	// Fact is the reason.
	Fact string
	// Remedy is what the user can do.
	Remedy string
}

// String returns the sentence.
func (f Finding) String() string { return f.Subject + " " + f.Fact + "; " + f.Remedy + "." }

// Cause is a reason why an object makes no progress. Find returns nil if the facts do not show it. Name is for tests and
// for readers of the tables.
type Cause struct {
	Name string
	Find func(*Facts) *Finding
}

// Explain returns the first cause that the facts show. Every table ends with a cause that always applies, so the last
// answer is only for an empty one.
func Explain(f *Facts) Finding {
	causes := workloadCauses
	switch {
	case f.Budget != nil:
		causes = budgetCauses
	case f.Pod != nil:
		causes = podCauses
	}
	for _, cause := range causes {
		if found := cause.Find(f); found != nil {
			return *found
		}
	}
	return Finding{Subject: "the object", Fact: "shows no cause", Remedy: "look at its events"}
}

// lifecycle returns the hooks of the workload, or nil.
func (f *Facts) lifecycle() *pub.Lifecycle {
	hooks := &pub.Lifecycle{}
	if f.Workload == nil || !f.Workload.Read(f.Workload.Lifecycle, hooks) {
		return nil
	}
	return hooks
}

// minReadySeconds returns how long a Pod must be ready to be available, or zero without a workload.
func (f *Facts) minReadySeconds() int32 {
	if f.Workload == nil {
		return 0
	}
	return int32(f.Workload.Int(f.Workload.MinReadySeconds, 0))
}
