package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestQuotaFitsIntoMemory(t *testing.T) {
	const mib = int64(1 << 20)
	for name, test := range map[string]struct{ limit, want int64 }{
		"no limit":          {0, 2048 * mib},
		"the chart's limit": {2048 * mib, 256 * mib},
		"a large limit":     {64 << 30, 2048 * mib},
		"a small limit":     {128 * mib, 64 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, quotaFor(test.limit))
		})
	}
}
