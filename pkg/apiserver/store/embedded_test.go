package store

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
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

// The files of a running store are moved away, for example by an operator who restores a copy. The old member ends after its
// successor has started in the same directory.
func TestLateMemberDoesNotAffectItsSuccessor(t *testing.T) {
	config := testConfig(t)
	late, err := Start(t.Context(), config)
	require.NoError(t, err)
	require.NoError(t, os.Rename(config.Dir, config.Dir+"-moved"))
	successor, err := Start(t.Context(), config)
	require.NoError(t, err)
	defer successor.Stop()
	late.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = client(t, successor).Put(ctx, "key", "value")
	assert.NoError(t, err)
}

func TestSocketsOfKilledMembersAreRemoved(t *testing.T) {
	config := testConfig(t)
	require.NoError(t, os.MkdirAll(config.Dir, 0o700))
	left := newSockets(config.Dir).client
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	e, err := Start(t.Context(), config)
	require.NoError(t, err)
	defer e.Stop()
	assert.NoFileExists(t, left)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// logTo returns the test's context with a logger that passes each line to the function.
func logTo(t *testing.T, line func(string)) context.Context {
	out := writerFunc(func(p []byte) (int, error) {
		line(string(p))
		return len(p), nil
	})
	return klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out))))
}

func TestDirectoryIsWaitedFor(t *testing.T) {
	config := testConfig(t)
	first, err := Start(t.Context(), config)
	require.NoError(t, err)
	_, err = client(t, first).Put(t.Context(), "key", "value")
	require.NoError(t, err)

	waits := make(chan struct{})
	once := sync.OnceFunc(func() { close(waits) })
	go func() {
		<-waits
		first.Stop()
	}()
	config.LockPatience = time.Minute
	second, err := Start(logTo(t, func(string) { once() }), config)
	require.NoError(t, err)
	defer second.Stop()
	got, err := client(t, second).Get(t.Context(), "key")
	require.NoError(t, err)
	assert.Len(t, got.Kvs, 1)
}

// The wait is logged immediately and every ten seconds, and it ends.
func TestWaitForTheDirectoryIsBounded(t *testing.T) {
	dir := t.TempDir()
	held, err := lockDir(t.Context(), dir, 0)
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	tests := map[string]struct {
		patience time.Duration
		lines    []time.Duration
	}{
		"none":          {0, nil},
		"a moment":      {time.Second, []time.Duration{0}},
		"half a minute": {30 * time.Second, []time.Duration{0, 10 * time.Second, 20 * time.Second}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var lines []time.Duration
				ctx := logTo(t, func(line string) {
					assert.Contains(t, line, dir)
					lines = append(lines, time.Since(start))
				})
				_, err := lockDir(ctx, dir, test.patience)
				assert.ErrorContains(t, err, "is in use by another kruise-apiserver; stop that one or choose another directory")
				assert.Equal(t, test.patience, time.Since(start))
				assert.Equal(t, test.lines, lines)
			})
		})
	}
}

func TestWaitForTheDirectoryEndsWithTheProcess(t *testing.T) {
	dir := t.TempDir()
	held, err := lockDir(t.Context(), dir, 0)
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lockDir(ctx, dir, time.Minute)
	assert.ErrorIs(t, err, context.Canceled)
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

	for path, mode := range map[string]fs.FileMode{config.Dir: 0o700, e.sockets.client: 0o600, e.sockets.http: 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), path)
	}
}

// A warning at every start would hide warnings that matter.
func TestStartLogsNoWarnings(t *testing.T) {
	config := testConfig(t)
	real := os.Stderr
	path := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(path)
	require.NoError(t, err)
	os.Stderr = file
	defer func() { os.Stderr = real }()
	for range 2 { // First with an empty directory, then with data.
		e, err := Start(t.Context(), config)
		require.NoError(t, err)
		e.Stop()
	}
	require.NoError(t, file.Close())
	out, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		// etcd also warns of a disk or processor that took longer than expected.
		assert.False(t, strings.Contains(line, `"level"`) && !strings.Contains(line, `"expected-duration"`), line)
	}
}

func TestLongDirectoryIsRefused(t *testing.T) {
	_, err := Start(t.Context(), Config{Dir: "/tmp/" + strings.Repeat("x", 120)})
	assert.ErrorContains(t, err, "choose a shorter directory")
}
