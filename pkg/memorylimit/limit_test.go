package memorylimit

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHeapIsLimitedBelowTheContainer(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	apply := func(variables map[string]string) int64 {
		limit, err := Apply(func(name string) string { return variables[name] })
		require.NoError(t, err)
		return limit
	}
	assert.Zero(t, apply(nil))
	assert.Equal(t, before, debug.SetMemoryLimit(-1))

	assert.Equal(t, int64(1_000_000_000), apply(map[string]string{"MEMORY_LIMIT": "1000000000", "GOMEMLIMIT": "2GiB"}))
	assert.Equal(t, before, debug.SetMemoryLimit(-1), "the operator's own limit wins")
	assert.Equal(t, int64(1_000_000_000), apply(map[string]string{"MEMORY_LIMIT": "1000000000"}))
	assert.Equal(t, int64(900_000_000), debug.SetMemoryLimit(math.MaxInt64))
}

func TestWrongLimitIsRefused(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	for _, text := range []string{"2Gi", "0", "-1"} {
		_, err := Apply(func(string) string { return text })
		assert.ErrorContains(t, err, `environment variable MEMORY_LIMIT is "`+text+`": set it to the memory limit in bytes`)
	}
	assert.Equal(t, before, debug.SetMemoryLimit(-1))
}
