package podcontrol

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSequenceOfIDsForANodeIsStable(t *testing.T) {
	first := NextPlaceID("uid", "node-1", "")
	assert.Len(t, first, placeLength)
	assert.Equal(t, first, NextPlaceID("uid", "node-1", ""))
	assert.NotEqual(t, first, NextPlaceID("uid", "node-2", ""))
	assert.NotEqual(t, first, NextPlaceID("other", "node-1", ""), "another owner of the same name")
	second := NextPlaceID("uid", "node-1", first)
	assert.NotEqual(t, first, second)
	assert.Equal(t, second, NextPlaceID("uid", "node-1", first))

	ids := map[string]bool{}
	for i := range 10000 {
		ids[NextPlaceID("uid", fmt.Sprint("node-", i), "")] = true
	}
	assert.Len(t, ids, 10000)
}

func TestNameOfAPlaceFitsAHostName(t *testing.T) {
	assert.Equal(t, "web", PlaceName("web"))
	long := strings.Repeat("a", 51) + "-b-c"
	assert.Equal(t, strings.Repeat("a", 51), PlaceName(long))
	assert.Len(t, PlaceName(strings.Repeat("a", 200))+"-"+NextPlaceID("u", "n", ""), 63)
}
