package rollout

// Candidate is one Pod that an update may choose.
type Candidate struct{ Available bool }

// Census counts the Pods that limit an update but are not candidates of it.
type Census struct {
	// Unavailable is how many of all Pods are not available. UnavailableAtTarget is how many of those are at the target revision.
	Unavailable, UnavailableAtTarget int
	// Picked is how many Pods at another revision already wait for their deletion. PickedAvailable is how many of those are
	// available.
	Picked, PickedAvailable int
	// InOrder stops at the first candidate that has to wait. It is set for kinds that guarantee an order.
	InOrder bool
}

// SelectUpdates goes through the first UpdateNum candidates in order, and returns the indexes of the candidates to update now.
//
// An available Pod is chosen while fewer than UpdateMaxUnavailable Pods are unavailable or about to be deleted. It also waits
// once the chosen Pods and the Pods already picked for deletion make up UpdateNum. Choosing an unavailable Pod makes no further
// Pod unavailable, so it does not wait for an available Pod before it, unless InOrder is set.
//
// At the target revision, chosen and unavailable Pods together do not exceed the limit. A revision that never becomes available
// therefore stops after as many Pods as the user allowed.
//
// If the limit is zero because Pods are missing, one unavailable Pod may still be updated. This makes nothing worse and may be
// the only way to recover.
func (d Diff) SelectUpdates(candidates []Candidate, census Census) (chosen []int) {
	wanted := abs(d.UpdateNum)
	unavailable := census.Unavailable + census.PickedAvailable
	for i, candidate := range candidates[:min(wanted, len(candidates))] {
		bound := d.UpdateMaxUnavailable
		if !candidate.Available {
			bound = max(bound, 1)
		}
		waits := census.UnavailableAtTarget+len(chosen) >= bound ||
			candidate.Available && (unavailable >= bound || census.Picked+len(chosen) >= wanted)
		if waits && census.InOrder {
			return chosen
		}
		if waits {
			continue
		}
		if candidate.Available {
			unavailable++
		}
		chosen = append(chosen, i)
	}
	return chosen
}

// SelectDeletes goes through Pods in order, and returns the indexes of the Pods that may be deleted now: every Pod that is not available,
// and as many available Pods as the limit allows. It also returns the rest of the limit.
func SelectDeletes(available []bool, limit int) (chosen []int, rest int) {
	for i := range available {
		if available[i] {
			if limit <= 0 {
				continue
			}
			limit--
		}
		chosen = append(chosen, i)
	}
	return chosen, limit
}
