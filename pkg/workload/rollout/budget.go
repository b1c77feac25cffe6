package rollout

// Candidate is one Pod that an update may choose.
type Candidate struct{ Available bool }

// SelectUpdates walks candidates in their order and returns how many leading ones may be updated now.
//
// A serving Pod is chosen while fewer than UpdateMaxUnavailable are unavailable; one that does not serve costs nothing
// there. Both together stay below the bound at the target revision, so that a revision which never becomes available
// stops after as many Pods as the user risked. One Pod that does not serve may go even where the bound is zero, because Pods
// are missing: it loses nothing, and may be the only way out.
func (d Diff) SelectUpdates(candidates []Candidate, unavailable, unavailableAtTarget int) int {
	limit := min(abs(d.UpdateNum), len(candidates))
	for i, candidate := range candidates[:limit] {
		risk := d.UpdateMaxUnavailable
		if !candidate.Available {
			risk = max(risk, 1)
		}
		if unavailableAtTarget+i >= risk {
			return i
		}
		if !candidate.Available {
			continue
		}
		if unavailable >= d.UpdateMaxUnavailable {
			return i
		}
		unavailable++
	}
	return limit
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
