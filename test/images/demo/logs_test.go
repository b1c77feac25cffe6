package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A follower prints what a writer wrote. Both end with their context.
func TestLogIsWrittenAndFollowed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file, out := filepath.Join(t.TempDir(), "log"), &bytes.Buffer{}
	t.Setenv("SHOP", "books")
	require.NoError(t, logs(ctx, []string{"write", file}, out))
	require.Empty(t, out.String())
	require.NoError(t, logs(ctx, []string{"follow", file}, out))
	assert.Contains(t, out.String(), "follows "+file+" of books\n")
	assert.Contains(t, out.String(), " order 1\n")
	assert.ErrorContains(t, logs(ctx, []string{"print", file}, out), "use: demo sleep SECONDS, demo write FILE, or demo follow FILE")
}
