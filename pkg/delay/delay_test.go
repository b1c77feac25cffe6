package delay

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSecondsDoNotOverflow(t *testing.T) {
	assert.Equal(t, 90*time.Second, Seconds(90))
	assert.Equal(t, -time.Second, Seconds(-1))
	most := Seconds(math.MaxInt64)
	assert.Equal(t, math.MaxInt32*time.Second, most)
	assert.Positive(t, most+most, "sums stay durations")
}

func TestSoonerIgnoresDelaysThatAreNotSet(t *testing.T) {
	for want, given := range map[time.Duration][2]time.Duration{
		0: {0, 0},
		1: {1, 0},
		2: {0, 2},
		3: {5, 3},
		4: {4, 5},
		6: {-1, 6},
		7: {7, -1},
	} {
		assert.Equal(t, want, Sooner(given[0], given[1]), "%v", given)
	}
	assert.Zero(t, Sooner(-1, -2))
}
