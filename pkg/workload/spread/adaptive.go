package spread

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/subset"
)

// recovery is how long a subset without a node for its Pods gets no new ones. Then it is tried again (case 10 of
// docs/contract/workloadspread.md).
const recovery = 5 * time.Minute

// Rescheduled is what adaptive rescheduling decides.
type Rescheduled struct {
	// Delete are the Pods that found no node in time.
	Delete []*corev1.Pod
	// Recovered are the subsets that are tried again.
	Recovered []string
	// Wait is the time until the next decision, or zero.
	Wait time.Duration
}

// critical returns how long a Pod may stay without a node, or zero if it may stay so. Zero switches adaptive rescheduling off.
func critical(spread *v1beta1.WorkloadSpread) time.Duration {
	strategy := &spread.Spec.ScheduleStrategy
	if strategy.Type != v1beta1.AdaptiveWorkloadSpreadScheduleStrategyType || strategy.Adaptive == nil {
		return 0
	}
	return time.Duration(ptr.Deref(strategy.Adaptive.RescheduleCriticalSeconds, 0)) * time.Second
}

// Reschedule sets the condition of each subset in the status of the WorkloadSpread, which the caller owns, and returns the Pods
// to move. It runs after Recount, on the same Pods. before is the status of the subsets before Recount: it has the conditions.
// The last subset is never left, because there is none behind it.
func Reschedule(
	spread *v1beta1.WorkloadSpread, before []v1beta1.WorkloadSpreadSubsetStatus, pods []*corev1.Pod, now time.Time,
) Rescheduled {
	var decided Rescheduled
	limit, status := critical(spread), &spread.Status
	for i := range status.SubsetStatuses {
		shown := &status.SubsetStatuses[i]
		if limit <= 0 {
			shown.Conditions = nil
			continue
		}
		var old *v1beta1.WorkloadSpreadSubsetCondition
		if stored := find(before, shown.Name); stored != nil {
			old = conditionIn(stored.Conditions)
		}
		moved := 0
		if i < len(status.SubsetStatuses)-1 {
			moved = decided.collect(spread, shown.Name, pods, limit, now)
		}
		last := i == len(status.SubsetStatuses)-1
		shown.Conditions = []v1beta1.WorkloadSpreadSubsetCondition{decided.condition(shown.Name, old, moved, last, now)}
	}
	// All versions show the same conditions.
	for _, all := range status.VersionedSubsetStatuses {
		for i := range all {
			all[i].Conditions = conditionsOf(spread, all[i].Name)
		}
	}
	return decided
}

// collect adds the Pods of a subset that found no node in time, and returns their number.
func (d *Rescheduled) collect(
	spread *v1beta1.WorkloadSpread, name string, pods []*corev1.Pod, limit time.Duration, now time.Time,
) (moved int) {
	for _, pod := range pods {
		matched, found := MatchedOf(pod)
		since := subset.UnschedulableSince(pod)
		if !found || matched.Name != spread.Name || matched.Subset != name || since == nil {
			continue
		}
		if left := since.Add(limit).Sub(now); left > 0 {
			d.wait(left)
			continue
		}
		d.Delete = append(d.Delete, pod)
		moved++
	}
	return moved
}

// wait makes Wait at most the given time.
func (d *Rescheduled) wait(left time.Duration) {
	if d.Wait == 0 || left < d.Wait {
		d.Wait = left
	}
}

// condition returns the condition of a subset. moved is the number of its Pods that found no node in time. A condition whose
// status does not change is kept as it is, so its time is when the status changed. A subset that failed keeps its condition
// until recovery is over and none of its Pods waits for a node.
func (d *Rescheduled) condition(
	subset string, old *v1beta1.WorkloadSpreadSubsetCondition, moved int, last bool, now time.Time,
) v1beta1.WorkloadSpreadSubsetCondition {
	failed := old != nil && old.Status == corev1.ConditionFalse
	if moved > 0 && !failed {
		d.wait(recovery)
		return v1beta1.WorkloadSpreadSubsetCondition{
			Type: v1beta1.SubsetSchedulable, Status: corev1.ConditionFalse, Reason: "PodUnschedulable", LastTransitionTime: metav1.NewTime(now),
		}
	}
	if failed && !last {
		if left := old.LastTransitionTime.Add(recovery).Sub(now); left > 0 {
			d.wait(left)
			return *old
		}
		// While a Pod still finds no node, the subset is not tried again. The deletion of the Pod starts the next pass.
		if moved > 0 {
			return *old
		}
		d.Recovered = append(d.Recovered, subset)
	}
	if old != nil && !failed {
		return *old
	}
	return v1beta1.WorkloadSpreadSubsetCondition{
		Type: v1beta1.SubsetSchedulable, Status: corev1.ConditionTrue, Reason: "Sufficient", LastTransitionTime: metav1.NewTime(now),
	}
}
