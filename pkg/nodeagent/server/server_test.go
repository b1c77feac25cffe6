package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/nodeagent/server"
)

// run serves until the end of the test.
func run(t *testing.T, s *server.Server) string {
	t.Helper()
	require.NoError(t, s.Listen(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context()) }()
	t.Cleanup(func() { assert.NoError(t, <-done) })
	return "http://" + s.Addr()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { assert.NoError(t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestAnswers(t *testing.T) {
	good := server.Check{Name: "good", Run: func(context.Context) error { return nil }}
	bad := server.Check{Name: "cri", Run: func(context.Context) error { return errors.New("not synced") }}
	url := run(t, server.New("127.0.0.1:0", []server.Check{good}, []server.Check{good, bad}))
	tests := map[string]struct {
		path     string
		wantCode int
		wantBody string
	}{
		"life":      {"/livez", http.StatusOK, "ok"},
		"health":    {"/healthz", http.StatusOK, "ok"},
		"readiness": {"/readyz", http.StatusInternalServerError, "check cri failed, err: not synced\n"},
		"no pprof":  {"/debug/pprof/", http.StatusNotFound, "404 page not found\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, body := get(t, url+test.path)
			assert.Equal(t, test.wantCode, code)
			assert.Equal(t, test.wantBody, body)
		})
	}
	code, body := get(t, url+"/metrics")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, "go_goroutines")
}

func TestPprof(t *testing.T) {
	code, body := get(t, run(t, server.NewPprof("127.0.0.1:0"))+"/debug/pprof/")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, "heap")
}

func TestListenOnTakenAddress(t *testing.T) {
	first := server.New("127.0.0.1:0", nil, nil)
	require.NoError(t, first.Listen(t.Context()))
	defer func() { assert.NoError(t, first.Close()) }()
	err := server.New(first.Addr(), nil, nil).Listen(t.Context())
	assert.ErrorContains(t, err, "address already in use")
}
