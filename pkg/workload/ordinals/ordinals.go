package ordinals

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// SpecOf returns the start and the reserved ordinals of a StatefulSet of either group. startOrdinal is the feature gate
// StatefulSetStartOrdinal: without it, StatefulSets of this project start at 0. Only these reserve ordinals. Other workloads, and nil,
// start at 0 without reservations.
func SpecOf(workload metav1.Object, startOrdinal bool) (start int, reserved []intstr.IntOrString) {
	switch set := workload.(type) {
	case *appsv1.StatefulSet:
		if set.Spec.Ordinals != nil {
			start = int(set.Spec.Ordinals.Start)
		}
	case *v1beta1.StatefulSet:
		reserved = set.Spec.ReserveOrdinals
		if startOrdinal && set.Spec.Ordinals != nil {
			start = int(set.Spec.Ordinals.Start)
		}
	}
	return start, reserved
}

// interval is a range of reserved ordinals. It includes both ends.
type interval struct{ first, last int }

// maxReplicas is the number of Pods that Kubernetes supports in one cluster. More replicas would only cost the memory of their ordinals,
// which a user could make larger than that of the program.
const maxReplicas = 150_000

// InRange returns the ordinals of a number of replicas, in ascending order, from start on and without the reserved ones. The
// error says which reservation is invalid, or that there are too many replicas. With no replicas, the result is empty and not nil.
func InRange(replicas, start int, reserved []intstr.IntOrString) ([]int, error) {
	if replicas > maxReplicas {
		return nil, fmt.Errorf("replicas: %d is more than the %d Pods that a cluster can have; reduce it", replicas, maxReplicas)
	}
	var skipped []interval
	for i := range reserved {
		parsed, err := parse(&reserved[i])
		if err != nil {
			return nil, fmt.Errorf("reserveOrdinals[%d]: %w", i, err)
		}
		skipped = append(skipped, parsed)
	}
	ordinals := make([]int, 0, replicas)
	next := start
	for _, r := range inOrder(skipped) {
		for ; next < r.first && len(ordinals) < replicas; next++ {
			ordinals = append(ordinals, next)
		}
		next = max(next, r.last+1)
	}
	// Reserved ordinals are replaced by later ones, so the number of replicas is kept.
	for ; len(ordinals) < replicas; next++ {
		ordinals = append(ordinals, next)
	}
	return ordinals, nil
}

// inOrder sorts the intervals by their first ordinal, so that one walk finds all of them. It returns the same slice.
func inOrder(intervals []interval) []interval {
	slices.SortFunc(intervals, func(a, b interval) int { return cmp.Compare(a.first, b.first) })
	return intervals
}

// parse reads a reservation: a number, or a range such as "0-2".
func parse(value *intstr.IntOrString) (interval, error) {
	if value.Type == intstr.Int {
		if value.IntVal < 0 {
			return interval{}, fmt.Errorf("%d is negative", value.IntVal)
		}
		return interval{first: int(value.IntVal), last: int(value.IntVal)}, nil
	}
	// This accepts no sign, and nothing beyond an int32.
	first, last, found := strings.Cut(value.StrVal, "-")
	from, errFrom := strconv.ParseUint(first, 10, 31)
	to, errTo := strconv.ParseUint(last, 10, 31)
	if !found || errFrom != nil || errTo != nil || from > to {
		return interval{}, fmt.Errorf("%q is not a range such as \"0-2\"", value.StrVal)
	}
	return interval{first: int(from), last: int(to)}, nil
}

// Of returns the ordinal in the name of a Pod of the set. It returns false if the name is not one that the set gives, for
// example with leading zeros.
func Of(set string, object metav1.Object) (int, bool) {
	text, found := strings.CutPrefix(object.GetName(), set+"-")
	if !found {
		return 0, false
	}
	ordinal, err := strconv.Atoi(text)
	if err != nil || ordinal < 0 || strconv.Itoa(ordinal) != text {
		return 0, false
	}
	return ordinal, true
}

// PodName returns the name of the Pod of an ordinal.
func PodName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }

// Position returns how many ordinals before the given one are in use, from start on and without the reserved ones. It ignores
// an invalid reservation. InRange of enough replicas has the ordinal at this index. The time does not depend on the ordinal, which
// anybody can choose by the name of a Pod.
func Position(ordinal, start int, reserved []intstr.IntOrString) int {
	var skipped []interval
	for i := range reserved {
		if parsed, err := parse(&reserved[i]); err == nil {
			skipped = append(skipped, parsed)
		}
	}
	position, next := 0, start
	for _, r := range inOrder(skipped) {
		if r.first >= ordinal {
			break
		}
		position += max(0, r.first-next)
		next = max(next, r.last+1)
	}
	return position + max(0, ordinal-next)
}
