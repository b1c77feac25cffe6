package app

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuotaFitsIntoMemory(t *testing.T) {
	const mib = int64(1 << 20)
	for name, test := range map[string]struct{ limit, stored, want int64 }{
		"no limit":                         {0, 0, 2048 * mib},
		"the chart's limit":                {2048 * mib, 0, 256 * mib},
		"a large limit":                    {64 << 30, 0, 2048 * mib},
		"a small limit":                    {128 * mib, 0, 64 * mib},
		"a store that is larger already":   {2048 * mib, 300 * mib, 600 * mib},
		"a store that is as large as ever": {2048 * mib, 2048 * mib, 2048 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.stored > 0 {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "member", "snap"), 0o700))
				file, err := os.Create(filepath.Join(dir, "member", "snap", "db"))
				require.NoError(t, err)
				require.NoError(t, file.Truncate(test.stored))
				require.NoError(t, file.Close())
			}
			assert.Equal(t, test.want, quotaFor(test.limit, dir))
		})
	}
}

func TestHeapIsLimitedBelowTheContainer(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	none := func(string) string { return "" }
	limit, err := memoryLimit(none)
	require.NoError(t, err)
	limitHeap(limit, none)
	assert.Equal(t, before, debug.SetMemoryLimit(-1))

	limit, err = memoryLimit(func(string) string { return "1000000000" })
	require.NoError(t, err)
	limitHeap(limit, func(string) string { return "2GiB" })
	assert.Equal(t, before, debug.SetMemoryLimit(-1), "the operator's own limit wins")
	limitHeap(limit, none)
	assert.Equal(t, int64(900_000_000), debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(math.MaxInt64)

	for _, text := range []string{"2Gi", "0", "-1"} {
		_, err := memoryLimit(func(string) string { return text })
		assert.ErrorContains(t, err, `environment variable MEMORY_LIMIT is "`+text+`": set it to the memory limit in bytes`)
	}
}
