package guard

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kruise.io/kruise/pkg/apiserver/store"
)

func TestRecordInEtcd(t *testing.T) {
	dir, err := os.MkdirTemp("", "guard") //nolint:usetesting // t.TempDir is longer than a socket's path may be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	member, err := store.Start(t.Context(), store.Config{
		Dir: filepath.Join(dir, "data"), QuotaBytes: store.DefaultQuotaBytes, MaxRequestBytes: store.DefaultMaxRequestBytes,
	})
	require.NoError(t, err)
	defer member.Stop()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{member.Endpoint}, Context: t.Context()})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	etcd := &Etcd{Client: client, Prefix: "/registry/kruise.io", Groups: []string{"apps.kruise.io", "policy.kruise.io"}}

	empty, err := etcd.Read(t.Context())
	require.NoError(t, err)
	assert.Nil(t, empty.Record)
	assert.Zero(t, empty.Version)
	assert.NotZero(t, empty.Cluster)

	first, err := etcd.Write(t.Context(), Record{Identity: "a", Generation: 1, Cluster: "host"}, 0)
	require.NoError(t, err)
	_, err = etcd.Write(t.Context(), Record{Identity: "b"}, 0)
	require.ErrorIs(t, err, ErrChanged, "there is one already")
	second, err := etcd.Write(t.Context(), Record{Identity: "a", Generation: 2, Cluster: "host"}, first.Version)
	require.NoError(t, err)
	_, err = etcd.Write(t.Context(), Record{Identity: "a", Generation: 2}, first.Version)
	require.ErrorIs(t, err, ErrChanged, "another replica was faster")

	read, err := etcd.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, second, read)
	assert.Greater(t, read.Revision, empty.Revision)

	holds, err := etcd.Holds(t.Context())
	require.NoError(t, err)
	assert.False(t, holds, "the record is no object")
	_, err = client.Put(t.Context(), "/registry/kruise.io/policy.kruise.io/podunavailablebudgets/ns/b", "")
	require.NoError(t, err)
	holds, err = etcd.Holds(t.Context())
	require.NoError(t, err)
	assert.True(t, holds)

	_, err = client.Put(t.Context(), "/registry/kruise.io/store-guard", "not json")
	require.NoError(t, err)
	_, err = etcd.Read(t.Context())
	assert.ErrorContains(t, err, "/registry/kruise.io/store-guard")
}
