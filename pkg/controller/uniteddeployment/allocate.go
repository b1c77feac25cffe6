package uniteddeployment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/rollout"
)

// unlimited is the maximum of a subset without one.
const unlimited = math.MaxInt32

// share is what the allocation knows of a subset. It has no reference to the workload, so that the allocation is a pure function.
type share struct {
	name string
	// fixed are the replicas that the user gave the subset, or nil. min and max are the bounds.
	fixed    *int32
	min, max int32
	// current are the replicas that the workload of the subset has now, and ready how many of them are ready.
	current, ready int32
	// unschedulable is true if the subset gets no new Pods.
	unschedulable bool
	// marked is true if the subset was unschedulable at the start of the pass, and reserved is the number of Pods that other subsets
	// substitute. Both are only used with reservation.
	marked   bool
	reserved int32
}

// sharesOf returns the shares of the topology's subsets, in their order. Percentages are resolved against the total, and rounded to the
// nearest number. bounds is true if a subset has minReplicas or maxReplicas: then bounded allocates, otherwise fixed.
func sharesOf(topology *v1beta1.Topology, total int32) (shares []share, bounds bool, err error) {
	for i := range topology.Subsets {
		subset := &topology.Subsets[i]
		s := share{name: subset.Name}
		if subset.Replicas != nil {
			fixed, err := rollout.Rounded(subset.Replicas, int(total), 0)
			if err != nil {
				return nil, false, fmt.Errorf("subset %s: resolve replicas: %w", subset.Name, err)
			}
			s.fixed = new(int32(fixed))
		}
		lower, err := rollout.Rounded(subset.MinReplicas, int(total), 0)
		if err != nil {
			return nil, false, fmt.Errorf("subset %s: resolve minReplicas: %w", subset.Name, err)
		}
		upper, err := rollout.Rounded(subset.MaxReplicas, int(total), unlimited)
		if err != nil {
			return nil, false, fmt.Errorf("subset %s: resolve maxReplicas: %w", subset.Name, err)
		}
		s.min, s.max = int32(lower), int32(upper)
		bounds = bounds || subset.MinReplicas != nil || subset.MaxReplicas != nil
		shares = append(shares, s)
	}
	return shares, bounds, nil
}

// fixed gives each subset the replicas that the user gave it, and divides the rest evenly among the others. Of what cannot be divided
// evenly, those with most replicas now get one more, so that few Pods move. Among equals, the last by name comes first, so that the
// result does not depend on the order of the topology. It returns an error if the numbers of the user are more than the total, or if
// they are less and no subset can take the rest. Its text goes to the user.
func fixed(total int32, shares []share) ([]int32, error) {
	given, sum := make([]int32, len(shares)), int32(0)
	var others []int
	for i := range shares {
		if shares[i].fixed == nil {
			others = append(others, i)
			continue
		}
		given[i] = *shares[i].fixed
		sum += given[i]
	}
	rest := total - sum
	switch {
	case rest < 0:
		return nil, fmt.Errorf("the replicas of the subsets are %d together, and spec.replicas is %d: increase spec.replicas, "+
			"or decrease those of a subset", sum, total)
	case len(others) == 0 && rest > 0:
		return nil, fmt.Errorf("the replicas of the subsets are %d together, and spec.replicas is %d: increase those of a subset, "+
			"or leave out those of one", sum, total)
	case len(others) == 0:
		return given, nil
	}
	slices.SortFunc(others, func(a, b int) int {
		return -cmp.Or(cmp.Compare(shares[a].current, shares[b].current), cmp.Compare(shares[a].name, shares[b].name))
	})
	each, extra := rest/int32(len(others)), rest%int32(len(others))
	for rank, i := range others {
		given[i] = each
		if int32(rank) < extra {
			given[i]++
		}
	}
	return given, nil
}

// bounded gives each subset in its order its minimum, and then each in its order up to its maximum. If the total is less than the sum
// of the minimums, the last subsets get less than their minimum. If it is more than the sum of the maximums, the rest is not allocated.
func bounded(total int32, shares []share) []int32 {
	given, rest := make([]int32, len(shares)), total
	for i := range shares {
		given[i] = min(shares[i].min, rest)
		rest -= given[i]
	}
	for i := range shares {
		more := max(0, min(shares[i].max-given[i], rest))
		given[i] += more
		rest -= more
	}
	return given
}

// adapted returns the shares with bounds that follow from what is ready, for bounded. An unschedulable subset keeps what is ready and
// gets no more, so that the Pods that wait for a node move to other subsets. Another subset keeps what is ready too, so that Pods do
// not move back after an outage. The minimum of the user stays in force even where a subset is unschedulable. The shares of the caller
// are not changed.
func adapted(shares []share) []share {
	shares = slices.Clone(shares)
	for i := range shares {
		s := &shares[i]
		switch {
		case s.unschedulable:
			s.min, s.max = max(s.min, s.ready), min(s.max, s.ready)
		case s.ready > s.min:
			s.min = min(s.ready, s.max)
		}
	}
	return shares
}

// room is how many Pods of a subset count towards the total. The others are reserved, and other subsets substitute them. A room that is
// not limited is that of a subset without reserved Pods: all its Pods count.
type room struct {
	// limited is true if only left more Pods count. Below zero, left is the number of Pods that did not count.
	limited bool
	left    int32
}

// take uses up room for added Pods, and returns how many of them count. The others exist in addition to the total.
func (r *room) take(added int32) int32 {
	if !r.limited {
		return added
	}
	// left may have been below zero before this call. Then added+left is below zero too, and none of the added Pods counts.
	r.left -= added
	if r.left >= 0 {
		return added
	}
	return max(0, added+r.left)
}

// reserving is bounded, but Pods that cannot run are kept in addition to the Pods that substitute them. So the sum of the result can be
// more than the total. For each subset, only the Pods that run use up the total. The number of replicas given to it contains the
// reserved Pods too.
func reserving(total int32, shares []share) []int32 {
	given, rooms, rest := make([]int32, len(shares)), make([]room, len(shares)), total
	for i := range shares {
		s := &shares[i]
		// A marked subset without reserved Pods has room for the Pods that it has now: nothing shows yet that more can run.
		rooms[i] = room{limited: s.marked || s.reserved > 0, left: s.current - s.reserved}
	}
	for i := range shares {
		if rest == 0 {
			return given
		}
		given[i] = min(shares[i].min, rest)
		rest -= rooms[i].take(given[i])
	}
	for i := range shares {
		if rest == 0 {
			break
		}
		upTo := shares[i].max
		// A subset whose Pods cannot run does not grow.
		if shares[i].reserved > 0 {
			upTo = shares[i].current
		}
		more := max(0, min(upTo-given[i], rest))
		given[i] += more
		rest -= rooms[i].take(more)
	}
	return given
}
