package spread

import (
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/rollout"
)

// unlimited is the number of free slots of a subset without a limit.
const unlimited = -1

// slots is the record of one subset for one version.
type slots = v1beta1.WorkloadSpreadSubsetStatus

// used returns how many slots are taken: by Pods that were counted, and by Pods that are being created. A Pod whose deletion
// was requested has returned its slot.
func used(s *slots) int { return int(s.Replicas) + len(s.CreatingPods) - len(s.DeletingPods) }

// record is the record of one version while it is decided on. It is a copy, so a decision that is not stored changes nothing.
type record struct {
	spread  *v1beta1.WorkloadSpread
	version string
	// replicas is the number of Pods that the workload wants, or nil if it is not known.
	replicas *int
	// all has one element for each subset of the spec, in the same order.
	all []slots
}

// recordOf returns a copy of the record of a version, with one element for each subset of the spec. A subset that the record
// does not have is new or was never counted.
func recordOf(spread *v1beta1.WorkloadSpread, version string, replicas *int) *record {
	r := &record{spread: spread, version: version, replicas: replicas, all: make([]slots, len(spread.Spec.Subsets))}
	for i := range r.all {
		name := spread.Spec.Subsets[i].Name
		// The record of a version does not have subsets that were added since.
		if stored := find(spread.Status.VersionedSubsetStatuses[version], name); stored != nil {
			stored.DeepCopyInto(&r.all[i])
		} else if shown := find(spread.Status.SubsetStatuses, name); shown != nil {
			// A recount without Pods leaves only this. Its free slots are the limit.
			r.all[i] = slots{Name: name, MissingReplicas: shown.MissingReplicas}
		} else {
			r.all[i] = slots{Name: name}
		}
		// The conditions are those of the subset, whatever the version.
		r.all[i].Conditions = conditionsOf(spread, name)
	}
	return r
}

// find returns the entry of a subset, or nil. The result points into the slice.
func find(all []slots, name string) *slots {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// conditionsOf returns the conditions of a subset, which all versions share.
func conditionsOf(spread *v1beta1.WorkloadSpread, name string) []v1beta1.WorkloadSpreadSubsetCondition {
	if shown := find(spread.Status.SubsetStatuses, name); shown != nil {
		return shown.Conditions
	}
	return nil
}

// free returns the number of free slots of a subset, which is negative if it has more Pods than it may have. It returns false
// if the subset has no limit. Numbers are computed from the record and the spec, never from missingReplicas, which would be out
// of date after a change of the limit. Only a percentage of unknown replicas needs it.
func (r *record) free(i int) (int, bool) {
	limit := r.spread.Spec.Subsets[i].MaxReplicas
	switch {
	case limit == nil:
		return 0, false
	case limit.Type == intstr.Int:
		return int(limit.IntVal) - used(&r.all[i]), true
	// A percentage needs the number of replicas. The last recount has computed it.
	case r.replicas == nil:
		return int(r.all[i].MissingReplicas), true
	default:
		return Limit(limit, *r.replicas) - used(&r.all[i]), true
	}
}

// Limit returns the maximum of a subset, or math.MaxInt without one. Percentages are rounded up. A percentage that cannot be
// read is zero.
func Limit(limit *intstr.IntOrString, replicas int) int {
	value, err := rollout.RoundedUp(limit, replicas, math.MaxInt)
	if err != nil {
		return 0
	}
	return max(0, value)
}

// shown returns the free slots as the status shows them: at least zero, or -1 without a limit.
func (r *record) shown(i int) int32 {
	free, limited := r.free(i)
	if !limited {
		return unlimited
	}
	return int32(max(0, free))
}

// change changes one subset and brings its number of free slots up to date. If that number is a percentage of unknown replicas,
// it is changed by the difference, because it cannot be computed.
func (r *record) change(i int, edit func(*slots)) {
	before := used(&r.all[i])
	edit(&r.all[i])
	if limit := r.spread.Spec.Subsets[i].MaxReplicas; limit != nil && limit.Type == intstr.String && r.replicas == nil {
		r.all[i].MissingReplicas = max(0, r.all[i].MissingReplicas+int32(before-used(&r.all[i])))
		return
	}
	r.all[i].MissingReplicas = r.shown(i)
}

// store writes the record into the status of the WorkloadSpread, and the sum of all versions.
func (r *record) store() {
	for i := range r.all {
		r.all[i].MissingReplicas = r.shown(i)
	}
	status := &r.spread.Status
	versions := make(map[string]v1beta1.WorkloadSpreadSubsetStatuses, len(status.VersionedSubsetStatuses)+1)
	maps.Copy(versions, status.VersionedSubsetStatuses)
	versions[r.version] = r.all
	status.VersionedSubsetStatuses = versions
	status.SubsetStatuses = sum(r, versions)
}

// sum returns the status of the subsets over all versions. Free slots are those of the version of the record.
func sum(r *record, versions map[string]v1beta1.WorkloadSpreadSubsetStatuses) []slots {
	total := make([]slots, len(r.all))
	for i := range r.all {
		total[i] = slots{Name: r.all[i].Name, MissingReplicas: r.all[i].MissingReplicas, Conditions: r.all[i].Conditions}
		for _, all := range versions {
			if one := find(all, total[i].Name); one != nil {
				total[i].Replicas += one.Replicas
				addTimes(&total[i].CreatingPods, one.CreatingPods)
				addTimes(&total[i].DeletingPods, one.DeletingPods)
			}
		}
	}
	return total
}

func addTimes(to *map[string]metav1.Time, from map[string]metav1.Time) {
	for key, at := range from {
		set(to, key, at)
	}
}

// set sets an entry, and makes the map if there is none.
func set(to *map[string]metav1.Time, key string, at metav1.Time) {
	if *to == nil {
		*to = map[string]metav1.Time{}
	}
	(*to)[key] = at
}

// schedulable reports whether Pods can be scheduled in a subset, as far as is known. Without adaptive rescheduling, there is no
// condition.
func schedulable(s *slots) bool {
	c := conditionIn(s.Conditions)
	return c == nil || c.Status != corev1.ConditionFalse
}

// conditionIn returns the condition SubsetSchedulable, or nil. The result points into the slice.
func conditionIn(conditions []v1beta1.WorkloadSpreadSubsetCondition) *v1beta1.WorkloadSpreadSubsetCondition {
	for i := range conditions {
		if conditions[i].Type == v1beta1.SubsetSchedulable {
			return &conditions[i]
		}
	}
	return nil
}
