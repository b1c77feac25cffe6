package health

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/kinds"
)

const (
	// Reconciling is true while the Pods are not as the spec asks for.
	Reconciling = kinds.Reconciling
	// Stalled is true instead if the rollout has taken longer than its deadline.
	Stalled = "Stalled"

	deadlineExceeded = "ProgressDeadlineExceeded"
)

// Conditions gives access to the conditions of one kind, whose Go type is C.
type Conditions[C any] struct {
	// New returns a condition of a type, with status True and all its times set.
	New func(conditionType string, now metav1.Time) C
	// Fields returns the type of a condition, and pointers to its reason and its message.
	Fields func(*C) (conditionType string, reason, message *string)
}

// Set returns the conditions as the progress of the object's rollout asks for. It does not change the given slice. Nil means
// that the progress is not known: the object then has neither condition. A condition that stays keeps its time; at most one of
// the two exists.
func (c Conditions[C]) Set(conditions []C, progress *kinds.Progress, now metav1.Time) []C {
	wanted, reason, message := judge(progress)
	index := -1
	for i := range conditions {
		if has, _, _ := c.Fields(&conditions[i]); has == wanted {
			index = i
		}
	}
	kept := c.Others(conditions)
	if wanted == "" {
		return kept
	}
	condition := c.New(wanted, now)
	if index >= 0 {
		condition = conditions[index]
	}
	_, hasReason, hasMessage := c.Fields(&condition)
	*hasReason, *hasMessage = reason, message
	return append(kept, condition)
}

// Others returns the conditions that this package does not own, in a new slice, or nil if there are none.
func (c Conditions[C]) Others(conditions []C) (others []C) {
	for i := range conditions {
		if has, _, _ := c.Fields(&conditions[i]); has != Reconciling && has != Stalled {
			others = append(others, conditions[i])
		}
	}
	return others
}

// judge returns the condition that an object has, or an empty type if it has none.
func judge(progress *kinds.Progress) (conditionType, reason, message string) {
	if progress == nil {
		return "", "", ""
	}
	reason, message = progress.Unsettled()
	switch {
	case reason == "":
		return "", "", ""
	case progress.Exceeded && !progress.Paused:
		return Stalled, deadlineExceeded, "The rollout has taken longer than progressDeadlineSeconds"
	}
	return Reconciling, reason, message
}
