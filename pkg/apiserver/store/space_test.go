package store

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// small starts a member with a quota of 16 MiB. commit writes the current batch to the file. etcd does that ten times
// a second, and the reported sizes do not change before.
func small(t *testing.T) (c *clientv3.Client, space *Space, commit func()) {
	t.Helper()
	config := testConfig(t)
	config.QuotaBytes = 16 << 20
	member, err := Start(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(member.Stop)
	space, err = member.Space()
	require.NoError(t, err)
	t.Cleanup(func() { _ = space.client.Close() })
	return client(t, member), space, member.etcd.Server.Backend().ForceCommit
}

// fill writes objects of 1 MiB until etcd refuses. The function name decides whether their names differ. fill
// returns how many objects etcd accepted.
func fill(t *testing.T, c *clientv3.Client, commit func(), name func(i int) string) int {
	t.Helper()
	for i := range 100 {
		_, err := c.Put(t.Context(), name(i), string(bytes.Repeat([]byte{byte(i)}, 1<<20)))
		if err != nil {
			require.ErrorIs(t, err, rpctypes.ErrNoSpace)
			return i
		}
		commit()
	}
	t.Fatal("100 MiB fit into 16")
	return 0
}

func TestOldRevisionsDoNotFillTheStore(t *testing.T) {
	c, space, commit := small(t)
	for i := range 100 {
		_, err := c.Put(t.Context(), "key", string(bytes.Repeat([]byte{byte(i)}, 1<<20)))
		require.NoError(t, err, "write %d", i)
		commit()
		require.NoError(t, space.keep(t.Context()))
		require.Empty(t, space.Problem())
	}
}

// TestIdleStoreIsNotWritten counts the entries of raft. Each entry is a write to the disk.
func TestIdleStoreIsNotWritten(t *testing.T) {
	c, space, _ := small(t)
	written := func() uint64 {
		status, err := c.Status(t.Context(), space.endpoint)
		require.NoError(t, err)
		return status.RaftIndex
	}
	require.NoError(t, space.keep(t.Context()))
	before := written()
	const rounds = 10
	for range rounds {
		require.NoError(t, space.keep(t.Context()))
	}
	assert.Less(t, written()-before, uint64(rounds), "etcd itself writes its version once after the start")
}

// TestStoreThatRefusesRecovers makes etcd raise its alarm, which a restart does not clear.
func TestStoreThatRefusesRecovers(t *testing.T) {
	c, space, commit := small(t)
	fill(t, c, commit, func(int) string { return "key" })
	_, err := c.Put(t.Context(), "small", "")
	require.ErrorIs(t, err, rpctypes.ErrNoSpace)

	require.NoError(t, space.keep(t.Context()))
	assert.Empty(t, space.Problem())
	_, err = c.Put(t.Context(), "small", "")
	require.NoError(t, err)
	u, err := space.look(t.Context())
	require.NoError(t, err)
	assert.Less(t, u.file, int64(8<<20), "the file became smaller")
}

func TestStoreFullOfObjectsSaysSoAndRecoversByDeletions(t *testing.T) {
	c, space, commit := small(t)
	written := 0
	for space.Problem() == "" { // When etcd refuses for the first time, its file still has free pages.
		written += fill(t, c, commit, func(i int) string { return fmt.Sprintf("key-%d", written+i) })
		require.NoError(t, space.keep(t.Context()))
	}
	assert.Regexp(t, `^the store is full: objects use \d+ MiB of the quota of 16 MiB$`, space.Problem())
	got, err := c.Get(t.Context(), "key-0")
	require.NoError(t, err)
	assert.Len(t, got.Kvs, 1, "reads go on")

	for i := range written / 2 {
		_, err := c.Delete(t.Context(), fmt.Sprintf("key-%d", i))
		require.NoError(t, err, "deletions go on")
	}
	for range 2 { // The pages of deleted objects become free with the next batch.
		require.NoError(t, space.keep(t.Context()))
		_, err := c.Delete(t.Context(), "none")
		require.NoError(t, err)
		commit()
	}
	require.NoError(t, space.keep(t.Context()))
	assert.Empty(t, space.Problem())
	_, err = c.Put(t.Context(), "small", "")
	assert.NoError(t, err)
}

// TestNewObjectsAreRefusedBeforeTheStoreIsFull checks that space is left for the writes of deletions.
func TestNewObjectsAreRefusedBeforeTheStoreIsFull(t *testing.T) {
	c, space, commit := small(t)
	for i := 0; space.Problem() == ""; i++ {
		_, err := c.Put(t.Context(), fmt.Sprintf("key-%d", i), string(bytes.Repeat([]byte{byte(i)}, 1<<18)))
		require.NoError(t, err, "object %d", i)
		commit()
		require.NoError(t, space.keep(t.Context()))
	}
	_, err := c.Put(t.Context(), "key-0", "smaller")
	assert.NoError(t, err)
}
