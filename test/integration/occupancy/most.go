package occupancy

import (
	"cmp"
	"slices"
	"time"
)

// Outage is a time in which a place was out. One that ends before it begins is none, and one that ends as another begins does not
// meet it.
type Outage struct {
	Place    int
	From, To time.Time
}

// edge is the begin of an outage, or its end.
type edge struct {
	at    time.Time
	place int
	by    int
}

// Most returns how many places were out at once at most, and when for the first time. A place that is out twice at once counts once.
// It takes time for sorting the history, and then goes through it once.
func Most(history []Outage) (most int, at time.Time) {
	edges := make([]edge, 0, 2*len(history))
	for _, o := range history {
		if o.To.After(o.From) {
			edges = append(edges, edge{o.From, o.Place, 1}, edge{o.To, o.Place, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	times := map[int]int{}
	for _, e := range edges {
		if times[e.place] += e.by; times[e.place] == 0 {
			delete(times, e.place)
		}
		if len(times) > most {
			most, at = len(times), e.at
		}
	}
	return most, at
}
