package openkruise

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChartsDifferAsTheirVersionsDo renders each version.
func TestChartsDifferAsTheirVersionsDo(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for _, generation := range Generations() {
		all, err := generation.Objects("elsewhere", "image")
		require.NoError(t, err)
		counts[generation.Version] = len(all)
		for _, object := range all {
			assert.NotEmpty(t, object.GetName())
			assert.Equal(t, Release, object.GetAnnotations()["meta.helm.sh/release-name"])
		}
	}
	assert.Equal(t, map[string]int{"1.3": 15, "1.4.1": 17, "1.8": 27, "1.9": 27}, counts)
}
