package localcluster

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLock lets many goroutines take the same lock and remove it, as Down does, while others wait for it.
func TestLock(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cluster, err := New(Config{Name: "a", Dir: filepath.Join(root, ".local", "clusters", "a"), ModuleRoot: root})
	require.NoError(t, err)
	var group sync.WaitGroup
	var holders atomic.Int32
	for range 20 {
		group.Go(func() {
			for range 50 {
				unlock, err := lockFile(t.Context(), cluster.lockPath())
				if !assert.NoError(t, err) {
					return
				}
				assert.EqualValues(t, 1, holders.Add(1), "two hold the lock")
				holders.Add(-1)
				assert.NoError(t, cluster.removeLock())
				unlock()
			}
		})
	}
	group.Wait()
	left, err := os.ReadDir(root)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestRemoveLockKeepsWhatOthersNeed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, test := range map[string]struct{ dir, other, kept string }{
		"another cluster":  {".local/clusters/a", ".local/clusters/b/state.json", ".local/clusters/b/state.json"},
		"a foreign folder": {"mine/a", "mine/x", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, err := New(Config{Name: "a", Dir: filepath.Join(root, test.dir), ModuleRoot: root})
			require.NoError(t, err)
			require.NoError(t, writeFile(filepath.Join(root, test.other), nil, 0o600))
			unlock, err := lockFile(t.Context(), cluster.lockPath())
			require.NoError(t, err)
			defer unlock()
			if test.kept == "mine" {
				require.NoError(t, os.Remove(filepath.Join(root, test.other)))
			}
			require.NoError(t, cluster.removeLock())
			assert.NoFileExists(t, cluster.lockPath())
			_, err = os.Stat(filepath.Join(root, test.kept))
			assert.NoError(t, err)
		})
	}
}

// Ctrl-C must end a program that waits for another one.
func TestWaitForALockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	unlock, err := lockFile(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := lockFile(ctx, path)
		ended <- err
	}()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	unlock()
	unlock, err = lockFile(t.Context(), path)
	require.NoError(t, err)
	unlock()
}
