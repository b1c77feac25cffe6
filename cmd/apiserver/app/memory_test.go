package app

import (
	"os"
	"path/filepath"
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
