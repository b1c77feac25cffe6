package spread

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// None is the index of no subset.
const None = -1

// Request is a new Pod that needs a slot. Version is that of VersionOf.
type Request struct {
	Version string
	// Pod is the name of the Pod, or empty if the server generates it later.
	Pod string
	// Key identifies the slot: the name of the Pod, or a new UUID.
	Key string
	// Replicas is the number of Pods that the workload wants, or nil if it is not known. Then percentages are as the last recount
	// has computed them.
	Replicas *int
}

// Reserve reserves a slot for a new Pod in the first subset that has one, and returns the index of the subset, or None. The
// caller owns the WorkloadSpread, and must store it if the status changed. Slots without a limit are not recorded. A Pod that
// already has a slot keeps it, for example when its creation is tried again. If it is tried again shortly before the slot
// expires, its time starts again: otherwise the slot could end while the Pod is stored, and another Pod would get it too.
func Reserve(spread *v1beta1.WorkloadSpread, request *Request, now time.Time) int {
	r := recordOf(spread, request.Version, request.Replicas)
	// First the subsets that know the name or the key of the Pod.
	for i := range r.all {
		since, creating := r.all[i].CreatingPods[request.Key]
		_, deleting := r.all[i].DeletingPods[request.Pod]
		free, limited := r.free(i)
		switch {
		case creating && !deleting && now.Sub(since.Time) > creationExpiry-creationMargin:
			return r.take(i, request.Key, now)
		case creating && !deleting:
			return i
		// A Pod that found no node here gets another subset.
		case deleting && schedulable(&r.all[i]) && (!limited || free > 0):
			// A Pod of this name is created again. Both Pods may count until the next recount, which is safe.
			r.change(i, func(s *slots) { delete(s.DeletingPods, request.Pod) })
			return r.take(i, request.Key, now)
		}
	}
	// Then the first subset with a free slot. A subset in which Pods find no node is left out.
	for i := range r.all {
		free, limited := r.free(i)
		switch {
		case !schedulable(&r.all[i]):
		case !limited:
			return i
		case free > 0:
			return r.take(i, request.Key, now)
		}
	}
	return None
}

// take records the slot of a Pod that is being created, and stores the record into the status.
func (r *record) take(i int, key string, now time.Time) int {
	r.change(i, func(s *slots) { set(&s.CreatingPods, key, metav1.NewTime(now)) })
	r.store()
	return i
}

// CountsSlots reports whether the slots of a subset are counted. Those of numbered Pods are not, and those of a subset without a limit.
func CountsSlots(spread *v1beta1.WorkloadSpread, subset string) bool {
	i := Index(spread, subset)
	return i != None && !Numbered(spread) && spread.Spec.Subsets[i].MaxReplicas != nil
}

// Release returns the slot of a Pod that is about to be deleted. The caller owns the WorkloadSpread, and must store it if the
// status changed. A slot is returned once, even if the client repeats the deletion. Nothing is recorded for numbered Pods, for
// subsets without a limit, and for versions without a record.
func Release(spread *v1beta1.WorkloadSpread, pod *corev1.Pod, matched Matched, now time.Time) {
	version := VersionOf(spread, pod)
	// Without a record there is no slot to return.
	if !CountsSlots(spread, matched.Subset) || find(spread.Status.VersionedSubsetStatuses[version], matched.Subset) == nil {
		return
	}
	i := Index(spread, matched.Subset)
	r := recordOf(spread, version, nil)
	if _, released := r.all[i].DeletingPods[pod.Name]; released {
		return
	}
	r.change(i, func(s *slots) {
		// If the Pod was not observed yet, its slot must have the name of the Pod, so that both end together.
		if at, unseen := s.CreatingPods[matched.UID]; unseen && matched.UID != "" {
			delete(s.CreatingPods, matched.UID)
			set(&s.CreatingPods, pod.Name, at)
		}
		set(&s.DeletingPods, pod.Name, metav1.NewTime(now))
	})
	r.store()
}

// OfPosition returns the subset of the Pod at a position among the numbered Pods of a workload, or None. The subsets are filled
// in their order. Subsets in which Pods find no node are skipped.
func OfPosition(spread *v1beta1.WorkloadSpread, position int) int {
	sum := 0
	for i := range spread.Spec.Subsets {
		subset := &spread.Spec.Subsets[i]
		if c := conditionIn(conditionsOf(spread, subset.Name)); c != nil && c.Status == corev1.ConditionFalse {
			continue
		}
		// Validation allows no percentages for numbered Pods, so the replicas do not matter.
		limit := Limit(subset.MaxReplicas, 0)
		if limit == math.MaxInt || position < sum+limit {
			return i
		}
		sum += limit
	}
	return None
}
