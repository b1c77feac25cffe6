package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlayers(t *testing.T) {
	server := httptest.NewServer(newHandler(&game{since: time.Now()}))
	defer server.Close()
	for _, step := range []struct{ method, query, want string }{
		{http.MethodGet, "", "idle for 0 minutes"},
		{http.MethodPost, "?count=3", ""},
		{http.MethodGet, "", "3 players"},
		{http.MethodPost, "?count=0", ""},
		{http.MethodGet, "", "idle for 0 minutes"},
	} {
		got, err := ask(t.Context(), step.method, server.URL+"/players"+step.query)
		require.NoError(t, err)
		assert.Equal(t, step.want, got)
	}
	_, err := ask(t.Context(), http.MethodPost, server.URL+"/players?count=x")
	require.ErrorContains(t, err, "use a whole number")
	require.ErrorContains(t, run(t.Context(), []string{"other"}, nil), "game play N")
}
