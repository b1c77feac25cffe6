package localcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecordAlive(t *testing.T) {
	t.Parallel()
	self, err := newRecord(os.Getpid(), []string{"me"})
	require.NoError(t, err)
	for name, test := range map[string]struct {
		change func(*record)
		want   bool
	}{
		"this process":                     {func(*record) {}, true},
		"its number, another's start":      {func(r *record) { r.Start++ }, false},
		"its number, before the last boot": {func(r *record) { r.Boot = "earlier" }, false},
		"no process":                       {func(r *record) { r.PID = 0 }, false},
		"a process that is not there":      {func(r *record) { r.PID = 1 << 30 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := self
			test.change(&r)
			assert.Equal(t, test.want, r.alive())
		})
	}
}

// TestStaleRecordIsNotSignalled writes the ID of an unrelated process into the pid file of a component.
func TestStaleRecordIsNotSignalled(t *testing.T) {
	t.Parallel()
	bystander := exec.CommandContext(t.Context(), "sleep", "60")
	require.NoError(t, bystander.Start())
	cluster, err := New(Config{Name: "a", Dir: t.TempDir(), ModuleRoot: "/somewhere"})
	require.NoError(t, err)
	r, err := newRecord(bystander.Process.Pid, nil)
	require.NoError(t, err)
	alive := r
	r.Start++
	require.NoError(t, r.write(cluster.pidFile("etcd")))

	require.NoError(t, cluster.kill(t.Context(), "etcd"))
	assert.True(t, alive.alive(), "the bystander was killed")
	assert.NoFileExists(t, cluster.pidFile("etcd"))

	require.NoError(t, alive.write(cluster.pidFile("etcd")))
	require.NoError(t, cluster.kill(t.Context(), "etcd"))
	assert.False(t, alive.alive(), "the recorded process goes on")
	require.Error(t, bystander.Wait())
}

func TestReadRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run", "x.pid")
	r, err := readRecord(path)
	require.NoError(t, err)
	assert.False(t, r.alive())

	want, err := newRecord(os.Getpid(), []string{"a", "--b=c d"})
	require.NoError(t, err)
	require.NoError(t, want.write(path))
	r, err = readRecord(path)
	require.NoError(t, err)
	assert.Equal(t, want, r)
	assert.True(t, r.sameArgs([]string{"a", "--b=c d"}))
	assert.False(t, r.sameArgs([]string{"a", "--b=c"}))

	require.NoError(t, os.WriteFile(path, []byte(`{"pid": 1`), 0o600))
	r, err = readRecord(path)
	require.NoError(t, err)
	assert.False(t, r.alive())
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " 17 2 2 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0"
	for name, test := range map[string]struct {
		text    string
		want    processStat
		running bool
	}{
		"plain":                      {"9 (etcd) S" + rest, processStat{'S', 17, 4242, 1}, true},
		"a name that looks like one": {"9 (a) Z 1 (b) S" + rest, processStat{'S', 17, 4242, 1}, true},
		"not reaped":                 {"9 (etcd) Z" + rest, processStat{'Z', 17, 4242, 1}, false},
		"threads still end": {
			"9 (etcd) Z" + strings.Replace(rest, " 1 0 4242", " 7 0 4242", 1), processStat{'Z', 17, 4242, 7}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseStat(test.text)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.running, got.running())
		})
	}
	_, err := parseStat("9 (etcd) S 17")
	require.ErrorContains(t, err, "too few fields")
}
