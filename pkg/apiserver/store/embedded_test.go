package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func testConfig(t *testing.T) Config {
	dir, err := os.MkdirTemp("", "store") //nolint:usetesting // t.TempDir is longer than a socket's path may be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Config{Dir: filepath.Join(dir, "data"), QuotaBytes: DefaultQuotaBytes, MaxRequestBytes: DefaultMaxRequestBytes}
}

func client(t *testing.T, e *Embedded) *clientv3.Client {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Endpoint}, Context: t.Context()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestDataOutlivesTheMember(t *testing.T) {
	config := testConfig(t)
	first, err := Start(t.Context(), config)
	require.NoError(t, err)
	_, err = client(t, first).Put(t.Context(), "key", "value")
	require.NoError(t, err)
	first.Stop()

	second, err := Start(t.Context(), config)
	require.NoError(t, err)
	defer second.Stop()
	got, err := client(t, second).Get(t.Context(), "key")
	require.NoError(t, err)
	require.Len(t, got.Kvs, 1)
	assert.Equal(t, "value", string(got.Kvs[0].Value))
}

func TestSecondProcessIsRefused(t *testing.T) {
	config := testConfig(t)
	first, err := Start(t.Context(), config)
	require.NoError(t, err)
	defer first.Stop()

	_, err = Start(t.Context(), config)
	assert.ErrorContains(t, err, "is in use by another kruise-apiserver")

	_, err = client(t, first).Put(t.Context(), "key", "value")
	assert.NoError(t, err, "the first one goes on")
}

func TestOnlyTheOwnerReachesTheStore(t *testing.T) {
	config := testConfig(t)
	e, err := Start(t.Context(), config)
	require.NoError(t, err)
	defer e.Stop()

	for path, mode := range map[string]fs.FileMode{".": 0o700, clientSocket: 0o600} {
		info, err := os.Stat(filepath.Join(config.Dir, path))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), path)
	}
}

func TestLongDirectoryIsRefused(t *testing.T) {
	_, err := Start(t.Context(), Config{Dir: "/tmp/" + strings.Repeat("x", 120)})
	assert.ErrorContains(t, err, "choose a shorter directory")
}
