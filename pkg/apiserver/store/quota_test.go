package store

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuotaIsRaisedOnlyForALargerDatabase(t *testing.T) {
	const mib = int64(1 << 20)
	for name, test := range map[string]struct{ size, want int64 }{
		"no database":               {0, 256 * mib},
		"a database that fits":      {200 * mib, 256 * mib},
		"a full database":           {256 * mib, 256 * mib},
		"a larger database":         {300 * mib, 330 * mib},
		"a database of several GiB": {4000 * mib, 4400 * mib},
		"a database a bit larger":   {260 * mib, 286 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, fitQuota(256*mib, test.size))
		})
	}
}

// stored returns the configuration of a stopped member that stores this many bytes, and a snapshot of the member.
func stored(t *testing.T, size int) (config Config, snapshot []byte) {
	t.Helper()
	config = testConfig(t)
	e, err := Start(t.Context(), config)
	require.NoError(t, err)
	defer e.Stop()
	for i := range size >> 20 {
		_, err = client(t, e).Put(t.Context(), fmt.Sprintf("key-%d", i), string(bytes.Repeat([]byte{byte(i)}, 1<<20)))
		require.NoError(t, err)
	}
	return config, saved(t, e)
}

// ownQuota is the quota in bytes before it is raised.
const ownQuota = int64(8 << 20)

// quotaOf starts the member for a moment, and returns the quota that it gets.
func quotaOf(t *testing.T, config Config) int64 {
	t.Helper()
	config.QuotaBytes, config.FitQuota = ownQuota, true
	e, err := Start(t.Context(), config)
	require.NoError(t, err)
	defer e.Stop()
	space, err := e.Space()
	require.NoError(t, err)
	defer func() { _ = space.client.Close() }()
	assert.Equal(t, space.quota, e.etcd.Config().QuotaBackendBytes)
	return space.quota
}

// TestQuotaDoesNotGrowWithRestarts starts a store that fits and one that does not.
func TestQuotaDoesNotGrowWithRestarts(t *testing.T) {
	fits, _ := stored(t, 2<<20)
	large, snapshot := stored(t, 12<<20)
	size := len(snapshot)
	for range 3 {
		assert.Equal(t, ownQuota, quotaOf(t, fits))
		assert.InEpsilon(t, size+size/10, quotaOf(t, large), 0.05)
	}
}

// TestRestoredStoreGetsAQuotaThatFits restores a store that is larger than the current one.
func TestRestoredStoreGetsAQuotaThatFits(t *testing.T) {
	config, _ := stored(t, 1<<20)
	_, large := stored(t, 12<<20)
	require.Equal(t, ownQuota, quotaOf(t, config))
	_, err := Restore(t.Context(), config.Dir, bytes.NewReader(large), RestoreConfig{})
	require.NoError(t, err)
	assert.Greater(t, quotaOf(t, config), int64(len(large)))
}
