package app

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/apiserver/operation"
	"kruise.io/kruise/pkg/apiserver/store"
)

// runCommand runs the program with these arguments, and returns what it prints.
func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command, err := NewCommand()
	require.NoError(t, err)
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs(args)
	err = command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestStoreCommandsHaveTheirOwnHelp(t *testing.T) {
	out, err := runCommand(t, "store", "--help")
	require.NoError(t, err)
	for _, name := range []string{"snapshot", "restore", "copy", "encrypt", "defragment"} {
		assert.Contains(t, out, "\n  "+name+" ")
	}
	out, err = runCommand(t, "store", "snapshot", "--help")
	require.NoError(t, err)
	assert.Contains(t, out, "--etcd-servers")
	assert.NotContains(t, out, "--secure-port", "a flag of the server")
}

func TestStoreCommandsRefuse(t *testing.T) {
	empty := t.TempDir()
	tests := map[string]struct {
		args []string
		want string
	}{
		"no file":            {[]string{"snapshot"}, "accepts 1 arg(s), received 0"},
		"a missing snapshot": {[]string{"restore", empty + "/missing"}, "open the snapshot"},
		"no source":          {[]string{"copy", "--data-dir=" + empty}, "set exactly one of --from-snapshot, from-data-dir and from-etcd-servers (0 are set)"},
		"two sources": {
			[]string{"copy", "--from-data-dir=a", "--from-snapshot=b", "--data-dir=" + empty}, "set exactly one of --from-snapshot",
		},
		"no target":        {[]string{"copy", "--from-data-dir=" + empty}, "set exactly one of --data-dir and etcd-servers (0 are set)"},
		"an empty source":  {[]string{"copy", "--from-data-dir=" + empty, "--etcd-servers=http://127.0.0.1:1"}, empty + " holds no store"},
		"no configuration": {[]string{"encrypt"}, "set --encryption-provider-config"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := runCommand(t, append([]string{"store"}, test.args...)...)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// shortDir returns a directory for a store. t.TempDir is longer than a socket's path may be.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cmd") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestRestoreHasNoQuota restores a snapshot whose file is larger than a quota. Without a limit, the same works for a
// store of several GiB.
func TestRestoreHasNoQuota(t *testing.T) {
	from := newLocation()
	from.dataDir = shortDir(t)
	opened, stop, err := from.start(t.Context(), from.dataDir, time.Minute)
	require.NoError(t, err)
	record := &guard.Etcd{Client: opened.Client, Prefix: opened.Prefix, Groups: opened.Groups}
	_, err = record.Write(t.Context(), guard.Record{Identity: "a", Generation: 1}, 0)
	require.NoError(t, err)
	_, err = opened.Client.Put(t.Context(), "large", string(make([]byte, 1200<<10)))
	require.NoError(t, err)
	var saved bytes.Buffer
	_, err = operation.Snapshot(t.Context(), opened, &saved)
	require.NoError(t, err)
	stop()

	assert.Equal(t, store.NoQuota, newLocation().quota)
	for name, test := range map[string]struct {
		quota int64
		want  string
	}{
		"the default of the commands": {newLocation().quota, ""},
		"a quota":                     {1 << 20, "database space exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			to := newLocation()
			to.dataDir, to.quota = shortDir(t), test.quota
			_, err := store.Restore(t.Context(), to.dataDir, bytes.NewReader(saved.Bytes()), store.RestoreConfig{Finish: to.markRestored})
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			assert.DirExists(t, filepath.Join(to.dataDir, "restored"))
		})
	}
}

// TestSnapshotOfAFullStoreIsRestored restores the content of an etcd that refused writes, which the snapshot contains too.
func TestSnapshotOfAFullStoreIsRestored(t *testing.T) {
	from := newLocation()
	from.dataDir, from.quota = shortDir(t), 1<<20
	opened, stop, err := from.start(t.Context(), from.dataDir, time.Minute)
	require.NoError(t, err)
	record := &guard.Etcd{Client: opened.Client, Prefix: opened.Prefix, Groups: opened.Groups}
	_, err = record.Write(t.Context(), guard.Record{Identity: "a", Generation: 1}, 0)
	require.NoError(t, err)
	for err == nil {
		_, err = opened.Client.Put(t.Context(), "large", string(make([]byte, 200<<10)))
	}
	require.ErrorContains(t, err, "database space exceeded")
	reader, err := opened.Client.Snapshot(t.Context())
	require.NoError(t, err)
	saved, err := io.ReadAll(reader)
	require.NoError(t, err)
	stop()

	to := newLocation()
	to.dataDir = shortDir(t)
	_, err = store.Restore(t.Context(), to.dataDir, bytes.NewReader(saved), store.RestoreConfig{Finish: to.markRestored})
	require.NoError(t, err)
}

// TestCopyFindsTheStoreInTheSnapshot copies from snapshots with one store, with two, and with none. Objects of others are no stores.
func TestCopyFindsTheStoreInTheSnapshot(t *testing.T) {
	from := newLocation()
	from.dataDir = shortDir(t)
	opened, stop, err := from.start(t.Context(), from.dataDir, time.Minute)
	require.NoError(t, err)
	defer stop()
	_, err = opened.Client.Put(t.Context(), "/registry/configmaps/ns/store-guard", "k8s\x00")
	require.NoError(t, err)
	file := filepath.Join(shortDir(t), "snapshot")
	save := func() {
		var saved bytes.Buffer
		_, err := operation.Snapshot(t.Context(), opened, &saved)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, saved.Bytes(), 0o600))
	}
	fill := func(prefix string, record guard.Record, objects int) {
		at := &guard.Etcd{Client: opened.Client, Prefix: prefix}
		_, err := at.Write(t.Context(), record, 0)
		require.NoError(t, err)
		for i := range objects {
			_, err = opened.Client.Put(t.Context(), fmt.Sprintf("%s/apps.kruise.io/clonesets/ns/demo-%d", prefix, i), "{}")
			require.NoError(t, err)
		}
	}
	copied := func(args ...string) (string, error) {
		return runCommand(t, append([]string{"store", "copy", "--from-snapshot=" + file, "--data-dir=" + shortDir(t)}, args...)...)
	}

	save()
	_, err = copied()
	require.ErrorContains(t, err, "source: the snapshot contains no store")
	fill("/named", guard.Record{Identity: "c", Candidate: true}, 0)
	fill("/copying", guard.Record{Identity: "b", Incomplete: true, Cause: guard.Copying}, 1)
	fill("/registry/kruise.io-restored", guard.Record{Identity: "a", Generation: 9}, 2)
	save()
	out, err := copied()
	require.NoError(t, err)
	assert.Contains(t, out, "Copied 2 objects of store a at generation 9 below /registry/kruise.io-restored, now at generation 0")

	fill("/registry/kruise.io", guard.Record{Identity: "a", Generation: 4}, 3)
	save()
	_, err = copied()
	require.ErrorContains(t, err, "the snapshot contains 2 stores: set --from-etcd-prefix to the prefix of the one to copy\n"+
		"  /registry/kruise.io-restored: store a at generation 9\n  /registry/kruise.io: store a at generation 4")
	out, err = copied("--from-etcd-prefix=/registry/kruise.io-restored")
	require.NoError(t, err)
	assert.Contains(t, out, "Copied 2 objects of store a at generation 9 below /registry/kruise.io-restored, now at generation 0")
}

// TestRestoreKnowsTheLastRevisionOfTheSameStoreOnly restores below a running store. Clients may know revisions far above the snapshot's if
// the store that runs is not the one that they know.
func TestRestoreKnowsTheLastRevisionOfTheSameStoreOnly(t *testing.T) {
	record := guard.Record{Identity: "a", Generation: 1}
	running := func(record *guard.Record, writes int) (dir string, opened *operation.Store) {
		at := newLocation()
		at.dataDir = shortDir(t)
		opened, stop, err := at.start(t.Context(), at.dataDir, time.Minute)
		require.NoError(t, err)
		t.Cleanup(stop)
		if record != nil {
			_, err := (&guard.Etcd{Client: opened.Client, Prefix: opened.Prefix}).Write(t.Context(), *record, 0)
			require.NoError(t, err)
		}
		for range writes {
			_, err := opened.Client.Put(t.Context(), "key", "")
			require.NoError(t, err)
		}
		return at.dataDir, opened
	}
	_, source := running(&record, 20)
	var saved bytes.Buffer
	_, err := operation.Snapshot(t.Context(), source, &saved)
	require.NoError(t, err)
	file := filepath.Join(shortDir(t), "snapshot")
	require.NoError(t, os.WriteFile(file, saved.Bytes(), 0o600))

	for name, test := range map[string]struct {
		record *guard.Record
		writes int
		margin int64
	}{
		"the same store":                     {&record, 40, revisionMargin},
		"a lower revision than the snapshot": {&record, 0, unknownMargin},
		"no record":                          {nil, 40, unknownMargin},
		"a candidate record":                 {&guard.Record{Identity: "c", Candidate: true}, 40, unknownMargin},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := running(test.record, test.writes)
			out, err := runCommand(t, "store", "restore", file, "--data-dir="+dir)
			require.NoError(t, err)
			_, text, found := strings.Cut(out, "at revision ")
			require.True(t, found, out)
			var revision int64
			_, err = fmt.Sscanf(text, "%d. The apiserver restarts with it now.", &revision)
			require.NoError(t, err, text)
			assert.Greater(t, revision, test.margin)
			assert.Less(t, revision, test.margin+1000)
		})
	}
}

// A server that starts has the directory before it serves. A command that comes at this time must not wait for the end of the server.
func TestCommandFindsAServerThatStarts(t *testing.T) {
	dir := t.TempDir()
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.Close()) }()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	at := newLocation()
	at.dataDir, at.patience = dir, 10*time.Second
	opened := make(chan error, 1)
	go func() {
		_, closeStore, err := at.open(t.Context())
		if err == nil {
			closeStore()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		require.Fail(t, "it has not waited", "%v", err)
	case <-time.After(5 * tryPeriod):
	}
	var config net.ListenConfig
	socket, err := config.Listen(t.Context(), "unix", filepath.Join(dir, "client-1.sock"))
	require.NoError(t, err)
	defer func() { require.NoError(t, socket.Close()) }()
	require.NoError(t, <-opened)

	busy := newLocation()
	busy.dataDir, busy.patience = t.TempDir(), tryPeriod
	other, err := os.OpenFile(filepath.Join(busy.dataDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	require.NoError(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX))
	_, _, err = busy.open(t.Context())
	require.ErrorIs(t, err, store.ErrInUse)
}
