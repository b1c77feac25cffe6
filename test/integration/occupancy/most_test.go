package occupancy

import (
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func out(place, from, to int) Outage {
	return Outage{Place: place, From: start.Add(time.Duration(from)), To: start.Add(time.Duration(to))}
}

func TestMost(t *testing.T) {
	tests := map[string]struct {
		history  []Outage
		most, at int
	}{
		"nothing":                  {},
		"one after another":        {history: []Outage{out(1, 0, 5), out(2, 5, 9)}, most: 1},
		"at once":                  {history: []Outage{out(2, 3, 9), out(1, 0, 5)}, most: 2, at: 3},
		"one place twice":          {history: []Outage{out(1, 0, 5), out(1, 3, 9)}, most: 1},
		"one place twice, on end":  {history: []Outage{out(1, 0, 5), out(1, 3, 9), out(2, 6, 7)}, most: 2, at: 6},
		"the worst is in the past": {history: []Outage{out(1, 0, 9), out(2, 1, 3), out(3, 2, 3), out(4, 3, 9)}, most: 3, at: 2},
		"ends before it begins":    {history: []Outage{out(1, 5, 0), out(2, 3, 9)}, most: 1, at: 3},
		"begins as it ends":        {history: []Outage{out(1, 3, 3), out(2, 3, 9)}, most: 1, at: 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			most, at := Most(test.history)
			assert.Equal(t, test.most, most)
			if most > 0 {
				assert.Equal(t, start.Add(time.Duration(test.at)), at)
			}
		})
	}
}

// It agrees with who looks at every moment.
func TestMostOfAnyHistory(t *testing.T) {
	for seed := range int64(500) {
		random := rand.New(rand.NewSource(seed))
		var history []Outage
		for range random.Intn(40) {
			from := random.Intn(50)
			history = append(history, out(random.Intn(10), from, from+random.Intn(12)-2))
		}
		want := 0
		for moment := range 70 {
			places := map[int]bool{}
			for _, o := range history {
				if at := start.Add(time.Duration(moment)); !o.From.After(at) && o.To.After(at) {
					places[o.Place] = true
				}
			}
			want = max(want, len(places))
		}
		most, _ := Most(history)
		assert.Equal(t, want, most, "seed %d", seed)
	}
}
