package resourcedistribution

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
)

// conditionTypes are the conditions of each status, in their order.
var conditionTypes = []v1beta1.ResourceDistributionConditionType{
	v1beta1.ResourceDistributionGetResourceFailed, v1beta1.ResourceDistributionCreateResourceFailed,
	v1beta1.ResourceDistributionUpdateResourceFailed, v1beta1.ResourceDistributionDeleteResourceFailed,
	v1beta1.ResourceDistributionConflictOccurred, v1beta1.ResourceDistributionNamespaceNotExists,
}

// succeeded is the reason of a condition without a failure. Case 5 of docs/contract/resourcedistribution.md names it.
const succeeded = "Succeeded"

// failure is why a namespace is not as it should be. condition is the type of the condition that names the namespace.
type failure struct {
	condition v1beta1.ResourceDistributionConditionType
	err       error
}

// outcome is the result for one namespace.
type outcome struct {
	namespace string
	// extra is true if the namespace is not one of the desired ones: its copy was to be deleted, or is only kept. It does not count as
	// failed.
	extra bool
	*failure
}

// status returns the status after a pass. desired is the number of namespaces that must have a copy. The result depends on the
// order of the namespaces only by name, not on the order in which they were written. reword reports whether the new text of a failure
// that lasts since a time may be written.
func status(
	d *v1beta1.ResourceDistribution, desired int, outcomes []outcome, now time.Time, reword func(since time.Time) bool,
) v1beta1.ResourceDistributionStatus {
	// outcomes belongs to the caller, who reads it again for retries.
	failures := slices.DeleteFunc(slices.Clone(outcomes), func(o outcome) bool { return o.failure == nil })
	slices.SortFunc(failures, func(a, b outcome) int { return cmp.Compare(a.namespace, b.namespace) })
	s := v1beta1.ResourceDistributionStatus{Desired: int32(desired), ObservedGeneration: d.Generation}
	// The namespace of such a copy is named in its condition, but is not one of the desired ones.
	for _, o := range failures {
		if !o.extra {
			s.Failed++
		}
	}
	s.Succeeded = s.Desired - s.Failed
	// Each status has all conditions. Those without a failure are False.
	for _, conditionType := range conditionTypes {
		condition := v1beta1.ResourceDistributionCondition{
			Type: conditionType, Status: corev1.ConditionFalse, Reason: succeeded, LastTransitionTime: metav1.NewTime(now),
		}
		for _, o := range failures {
			if o.condition == conditionType {
				// If several namespaces fail, the reason is the error of the last one by name.
				condition.Status, condition.Reason = corev1.ConditionTrue, controller.FailureMessage(o.err)
				condition.FailedNamespaces = append(condition.FailedNamespaces, o.namespace)
			}
		}
		before := slices.IndexFunc(d.Status.Conditions, func(c v1beta1.ResourceDistributionCondition) bool { return c.Type == conditionType })
		if before >= 0 {
			follow(&condition, &d.Status.Conditions[before], reword)
		}
		s.Conditions = append(s.Conditions, condition)
	}
	return s
}

// follow makes a condition the successor of the stored one. The time moves only with the status, as for all conditions. The text of a
// lasting failure differs at each attempt, and is written only once in a while: otherwise each write would start the next attempt at
// once, and retries would never back off.
func follow(condition, before *v1beta1.ResourceDistributionCondition, reword func(since time.Time) bool) {
	if before.Status != condition.Status {
		return
	}
	condition.LastTransitionTime = before.LastTransitionTime
	if before.Reason != condition.Reason && slices.Equal(before.FailedNamespaces, condition.FailedNamespaces) &&
		!reword(before.LastTransitionTime.Time) {
		condition.Reason = before.Reason
	}
}
