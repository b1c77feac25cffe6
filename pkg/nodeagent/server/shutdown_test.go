package server

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a listener whose connections are in memory, so that they work in virtual time.
type pipes struct{ accepted, closed chan net.Conn }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.accepted:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestRunEndsWithRequestThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, release := make(chan struct{}), make(chan struct{})
		s := New("", []Check{{Name: "hangs", Run: func(context.Context) error {
			close(asked)
			<-release
			return nil
		}}}, nil)
		listener := &pipes{make(chan net.Conn), make(chan net.Conn)}
		s.listener = listener
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		client, accepted := net.Pipe()
		listener.accepted <- accepted
		_, err := client.Write([]byte("GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n"))
		require.NoError(t, err)
		<-asked

		began := time.Now()
		cancel()
		require.NoError(t, <-done)
		assert.Equal(t, shutdownTimeout, time.Since(began))
		_, err = client.Read(make([]byte, 1))
		require.Error(t, err, "the connection is closed")
		close(release)
	})
}
