package effects

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kruise.io/kruise/pkg/apiserver/store"
)

// newClient returns a client of a new etcd.
func newClient(t testing.TB) *clientv3.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "effects") //nolint:usetesting // t.TempDir is longer than a socket's path may be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	member, err := store.Start(t.Context(), store.Config{
		Dir: filepath.Join(dir, "data"), QuotaBytes: store.DefaultQuotaBytes, MaxRequestBytes: store.DefaultMaxRequestBytes,
	})
	require.NoError(t, err)
	t.Cleanup(member.Stop)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{member.Endpoint}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Each write and each deletion changes what is read. Other keys do not.
func TestReadFrom(t *testing.T) {
	client := newClient(t)
	read := ReadFrom(client, "registry")
	last := Stored{}
	changes := func(want bool, write func() error) {
		t.Helper()
		require.NoError(t, write())
		stored, err := read(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, stored.Newest != last.Newest || stored.Count != last.Count, "%+v, before %+v", stored, last)
		last = stored
	}
	put := func(key string) func() error {
		return func() error {
			_, err := client.Put(t.Context(), key, "value")
			return err
		}
	}
	remove := func(key string) func() error {
		return func() error {
			_, err := client.Delete(t.Context(), key)
			return err
		}
	}
	const first, second = "/registry/apps.kruise.io/sidecarsets/a", "/registry/apps.kruise.io/sidecarsets/b"
	changes(false, put("/registry/apps.kruise.io/clonesets/ns/a"))
	changes(true, put(first))
	changes(true, put(second))
	assert.EqualValues(t, 2, last.Count)
	assert.Equal(t, last.Revision, last.Newest)
	changes(true, put(first))
	changes(false, put("/registry/apps.kruise.io/sidecarsetsandmore/a"))
	assert.Greater(t, last.Revision, last.Newest)
	changes(true, remove(second))
	changes(true, remove(first))
	assert.Zero(t, last.Newest)
	assert.Zero(t, last.Count)
}

func BenchmarkReadFrom(b *testing.B) {
	for _, count := range []int{10, 100, 500} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			client := newClient(b)
			for i := range count {
				_, err := client.Put(b.Context(), fmt.Sprintf("/registry/apps.kruise.io/sidecarsets/%d", i), string(bytes.Repeat([]byte("x"), 5000)))
				require.NoError(b, err)
			}
			read := ReadFrom(client, "registry")
			for b.Loop() {
				_, err := read(b.Context())
				require.NoError(b, err)
			}
		})
	}
}
