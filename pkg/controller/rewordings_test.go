package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A lasting failure says something new every 30 seconds at most. Otherwise each attempt would write the status, and each write would
// cause the next attempt.
func TestLastingFailuresAreRewordedOnceInAWhile(t *testing.T) {
	var r Rewordings
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := began.Add(RewordAfter)
	assert.False(t, r.Due("a", began, later.Add(-1)))
	assert.True(t, r.Due("a", began, later))
	assert.True(t, r.Due("a", began.Add(time.Second), later), "another condition of the same pass")
	assert.False(t, r.Due("a", began, later.Add(time.Millisecond)), "the next pass")
	assert.True(t, r.Due("b", began, later.Add(time.Millisecond)), "another object")
	assert.True(t, r.Due("a", began, later.Add(RewordAfter)))
	assert.False(t, r.Due("a", later.Add(RewordAfter), later.Add(2*RewordAfter-1)), "the failure has begun anew")
	assert.True(t, r.Due("a", began, began), "the clock was set back")
	r.Forget("a")
	assert.True(t, r.Due("a", began, later))
}
