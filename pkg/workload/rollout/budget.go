package rollout

// Candidate is one Pod that an update may choose.
type Candidate struct{ Available bool }

// Census is how the Pods stand that an update does not choose from, or that limit it.
type Census struct {
	// Unavailable is how many of all Pods do not serve, UnavailableAtTarget how many of those are at the target revision.
	Unavailable, UnavailableAtTarget int
	// Picked is how many Pods at another revision already wait for their deletion, PickedAvailable how many of those serve.
	Picked, PickedAvailable int
	// InOrder stops at the first candidate that has to wait, for kinds whose order is a promise.
	InOrder bool
}

// SelectUpdates walks the first UpdateNum candidates in their order and returns the indexes of those to update now.
//
// A serving Pod is chosen while fewer than UpdateMaxUnavailable are unavailable, or about to be deleted; one that does not
// serve costs nothing there, and is not held up by a serving one before it. Both together stay below the bound at the target
// revision, so that a revision which never becomes available stops after as many Pods as the user risked. One Pod that does
// not serve may go even where the bound is zero, because Pods are missing: it loses nothing, and may be the only way out.
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

// SelectDeletes walks Pods in their order and returns the indexes that may be deleted now: each that does not serve, and
// as many that do as the limit allows. It returns what is left of the limit.
func SelectDeletes(ready []bool, limit int) (chosen []int, rest int) {
	for i, serves := range ready {
		if serves {
			if limit <= 0 {
				continue
			}
			limit--
		}
		chosen = append(chosen, i)
	}
	return chosen, limit
}
