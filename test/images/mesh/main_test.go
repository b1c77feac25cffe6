package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Twenty processes take over from each other while a client sends requests. None is lost.
func TestListenerIsHandedOver(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	handover := filepath.Join(dir, "so")
	begin := func(name string) <-chan error {
		serving, ended := filepath.Join(dir, name), make(chan error, 1)
		go func() { ended <- run(ctx, address, handover, serving) }()
		require.NoError(t, wait(ctx, serving))
		return ended
	}
	processes := []<-chan error{begin("a")}
	var sent, lost atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		for ctx.Err() == nil {
			sent.Add(1)
			response, err := client.Get("http://" + address)
			if err != nil {
				lost.Add(1)
				continue
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if sent.Load() >= 400 {
				return
			}
		}
	}()
	for i := range 20 {
		processes = append(processes, begin(string(rune('b'+i))))
	}
	<-done
	assert.Zero(t, lost.Load(), "of %d", sent.Load())
	cancel()
	for _, ended := range processes {
		assert.NoError(t, <-ended)
	}
}
