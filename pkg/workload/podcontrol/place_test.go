package podcontrol

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlaceOfANodeIsStable(t *testing.T) {
	first := PlaceID("uid", "node-1", nil)
	assert.Len(t, first, placeLength)
	assert.Equal(t, first, PlaceID("uid", "node-1", map[string]bool{"other": true}))
	assert.NotEqual(t, first, PlaceID("uid", "node-2", nil))
	assert.NotEqual(t, first, PlaceID("other", "node-1", nil), "another owner of the same name")
	second := PlaceID("uid", "node-1", map[string]bool{first: true})
	assert.NotEqual(t, first, second, "a second Pod of an update with a surge")
	assert.Equal(t, first, PlaceID("uid", "node-1", map[string]bool{second: true}))
	assert.Equal(t, first, PlaceOf("web-"+first))

	ids := map[string]bool{}
	for i := range 10000 {
		ids[PlaceID("uid", fmt.Sprint("node-", i), nil)] = true
	}
	assert.Len(t, ids, 10000)
}

func TestNameOfAPlaceFitsAHostName(t *testing.T) {
	assert.Equal(t, "web", PlaceName("web"))
	long := strings.Repeat("a", 51) + "-b-c"
	assert.Equal(t, strings.Repeat("a", 51), PlaceName(long))
	assert.Len(t, PlaceName(strings.Repeat("a", 200))+"-"+PlaceID("u", "n", nil), 63)
}
