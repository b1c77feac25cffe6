package store

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// value reads a key of the member.
func value(t *testing.T, e *Embedded, key string) (text string, revision int64) {
	t.Helper()
	got, err := client(t, e).Get(t.Context(), key)
	require.NoError(t, err)
	require.Len(t, got.Kvs, 1)
	return string(got.Kvs[0].Value), got.Header.GetRevision()
}

// saved returns a snapshot of the member.
func saved(t *testing.T, e *Embedded) []byte {
	t.Helper()
	reader, err := client(t, e).Snapshot(t.Context())
	require.NoError(t, err)
	data, err := io.ReadAll(reader)
	require.NoError(t, err)
	return data
}

// TestRestoredStoreIsUsedByTheNextStart restores a snapshot below a running member, which goes on with its own data until it ends.
func TestRestoredStoreIsUsedByTheNextStart(t *testing.T) {
	config := testConfig(t)
	e, err := Start(t.Context(), config)
	require.NoError(t, err)
	_, err = client(t, e).Put(t.Context(), "key", "old")
	require.NoError(t, err)
	data := saved(t, e)
	_, err = client(t, e).Put(t.Context(), "key", "new")
	require.NoError(t, err)
	_, before := value(t, e, "key")

	restored, err := Restore(t.Context(), config.Dir, bytes.NewReader(data), RestoreConfig{After: before, Margin: 100})
	require.NoError(t, err)
	assert.Equal(t, 1, restored.Keys)
	text, _ := value(t, e, "key")
	assert.Equal(t, "new", text)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.ErrorIs(t, e.WaitForRestore(ctx), ErrRestored)
	e.Stop()

	for range 2 {
		e, err = Start(t.Context(), config)
		require.NoError(t, err)
		text, revision := value(t, e, "key")
		assert.Equal(t, "old", text)
		assert.GreaterOrEqual(t, revision, before+100)
		assert.NoError(t, e.WaitForRestore(canceled(t)), "it is used already")
		e.Stop()
	}
	assert.DirExists(t, filepath.Join(config.Dir, replacedDir))
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestInterruptedRestoreContinues ends the start at each step of the exchange.
func TestInterruptedRestoreContinues(t *testing.T) {
	mark := func(dir, text string) {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte(text), 0o600))
	}
	tests := map[string]func(dir string){
		"nothing done": func(dir string) {
			mark(filepath.Join(dir, memberDir), "before")
			mark(filepath.Join(dir, replacedDir), "long ago")
			mark(filepath.Join(dir, restoredDir, memberDir), "restored")
		},
		"the current data is kept": func(dir string) {
			mark(filepath.Join(dir, replacedDir), "before")
			mark(filepath.Join(dir, restoredDir, memberDir), "restored")
		},
		"the restored data is in place": func(dir string) {
			mark(filepath.Join(dir, replacedDir), "before")
			mark(filepath.Join(dir, memberDir), "restored")
			require.NoError(t, os.MkdirAll(filepath.Join(dir, restoredDir), 0o700))
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			prepare(dir)
			require.NoError(t, adoptRestored(t.Context(), dir))
			for path, want := range map[string]string{memberDir: "restored", replacedDir: "before"} {
				text, err := os.ReadFile(filepath.Join(dir, path, "text"))
				require.NoError(t, err)
				assert.Equal(t, want, string(text), path)
			}
			assert.NoDirExists(t, filepath.Join(dir, restoredDir))
		})
	}
}

// TestDamagedSnapshotIsNotRestored cuts a snapshot off, and flips a byte of it.
func TestDamagedSnapshotIsNotRestored(t *testing.T) {
	config := testConfig(t)
	e, err := Start(t.Context(), config)
	require.NoError(t, err)
	defer e.Stop()
	_, err = client(t, e).Put(t.Context(), "key", "value")
	require.NoError(t, err)
	data := saved(t, e)
	flipped := bytes.Replace(data, []byte("value"), []byte("other"), 1)
	for name, damaged := range map[string][]byte{"cut off": data[:len(data)-1000], "a byte differs": flipped, "empty": nil} {
		_, err := Restore(t.Context(), config.Dir, bytes.NewReader(damaged), RestoreConfig{Margin: 1})
		require.Error(t, err, name)
		assert.NoDirExists(t, filepath.Join(config.Dir, restoredDir), name)
		assert.NoDirExists(t, filepath.Join(config.Dir, preparedDir), name)
	}
}
