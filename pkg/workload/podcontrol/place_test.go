package podcontrol

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

// placeID returns the ID of a node. The given IDs are taken.
func placeID(owner types.UID, node string, taken ...string) string {
	id, _ := PlaceID(owner, node, func(id string) (bool, error) { return slices.Contains(taken, id), nil })
	return id
}

func TestPlaceOfANodeIsStable(t *testing.T) {
	first := placeID("uid", "node-1")
	assert.Len(t, first, placeLength)
	assert.Equal(t, first, placeID("uid", "node-1", "other"))
	assert.NotEqual(t, first, placeID("uid", "node-2"))
	assert.NotEqual(t, first, placeID("other", "node-1"), "another owner of the same name")
	second := placeID("uid", "node-1", first)
	assert.NotEqual(t, first, second, "a second Pod of an update with a surge")
	assert.Equal(t, first, placeID("uid", "node-1", second))

	ids := map[string]bool{}
	for i := range 10000 {
		ids[placeID("uid", fmt.Sprint("node-", i))] = true
	}
	assert.Len(t, ids, 10000)
}

func TestNameOfAPlaceFitsAHostName(t *testing.T) {
	assert.Equal(t, "web", PlaceName("web"))
	long := strings.Repeat("a", 51) + "-b-c"
	assert.Equal(t, strings.Repeat("a", 51), PlaceName(long))
	assert.Len(t, PlaceName(strings.Repeat("a", 200))+"-"+placeID("u", "n"), 63)
}
