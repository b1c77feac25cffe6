package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
)

// replica is a server beside a generic one that ends after a delay.
type replica struct {
	address string
	stop    func() error
}

// start starts a replica. The generic server stops that long after stop is called.
func start(t *testing.T, handler http.Handler, delay time.Duration) *replica {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	require.NoError(t, err)
	content, err := dynamiccertificates.NewStaticCertKeyContent("test", cert, key)
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	info := &genericapiserver.SecureServingInfo{Listener: listener, Cert: content, HTTP2MaxStreamsPerConnection: 1000}
	server := Take(info)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- server.Run(ctx, handler, delay) }()
	end := make(chan struct{})
	stopped, _, err := info.Serve(http.NotFoundHandler(), time.Minute, end)
	require.NoError(t, err)
	return &replica{listener.Addr().String(), func() error {
		cancel()
		<-time.After(delay)
		close(end)
		<-stopped
		return <-result
	}}
}

// clientOf returns a client that connects to the address that it is told.
func clientOf(address func() string) *http.Transport {
	return &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address())
		},
	}
}

// TestEndOfAReplicaLosesNoRequest has a proxy send requests with bodies to one replica after the other, as kube-apiserver does. Each
// ends after its successor has started.
func TestEndOfAReplicaLosesNoRequest(t *testing.T) {
	const clients, ends = 8, 4
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(w, req.Body)
	})
	var current atomic.Pointer[replica]
	current.Store(start(t, handler, 300*time.Millisecond))
	target, err := url.Parse("https://kruise-apiserver")
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	transport := clientOf(func() string { return current.Load().address })
	defer transport.CloseIdleConnections()
	proxy.Transport = transport
	var lock sync.Mutex
	failures := map[string]int{}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
		lock.Lock()
		defer lock.Unlock()
		failures[err.Error()]++
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	front := httptest.NewServer(proxy)
	defer front.Close()

	var done atomic.Int64
	var group sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range clients {
		group.Go(func() {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, front.URL, strings.NewReader("body"))
				if !assert.NoError(t, err) {
					return
				}
				response, err := front.Client().Do(request)
				if !assert.NoError(t, err) {
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				done.Add(1)
				<-time.After(10 * time.Millisecond)
			}
		})
	}
	for range ends {
		<-time.After(100 * time.Millisecond)
		old := current.Swap(start(t, handler, 300*time.Millisecond))
		require.NoError(t, old.stop())
	}
	stop()
	group.Wait()
	t.Logf("%d requests, %v", done.Load(), failures)
	for failure := range failures { // The client can lose a request by itself when it connects again.
		assert.NotContains(t, failure, "GOAWAY")
	}
	require.NoError(t, current.Load().stop())
}

// TestRequestOnItsWayIsAnswered sends a request after the server has announced the end, as a client does that has not read this yet.
func TestRequestOnItsWayIsAnswered(t *testing.T) {
	r := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), time.Second)
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
	connection, err := dialer.DialContext(t.Context(), "tcp", r.address)
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, http2.ClientPreface)
	require.NoError(t, err)
	framer := http2.NewFramer(connection, connection)
	require.NoError(t, framer.WriteSettings())
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	var announced, answered bool
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			break
		}
		switch f := frame.(type) {
		case *http2.GoAwayFrame:
			if announced {
				continue
			}
			announced = true
			assert.Equal(t, uint32(1<<31-1), f.LastStreamID, "it names no request")
			var block bytes.Buffer
			encoder := hpack.NewEncoder(&block)
			for _, field := range []hpack.HeaderField{
				{Name: ":method", Value: "GET"}, {Name: ":path", Value: "/"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "a"},
			} {
				require.NoError(t, encoder.WriteField(field))
			}
			require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true,
			}))
		case *http2.HeadersFrame:
			answered = true
		}
	}
	assert.True(t, announced)
	assert.True(t, answered)
	assert.NoError(t, <-stopped)
}

// TestRunningRequestsAreAnswered begins a request before the end is announced, and finishes it afterwards.
func TestRunningRequestsAreAnswered(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/slow" {
			close(began)
			<-finish
		}
		_, _ = io.WriteString(w, req.Proto)
	}), 200*time.Millisecond)
	client := &http.Client{Transport: clientOf(func() string { return r.address })}
	get := func(path string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://kruise-apiserver"+path, nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(body)
	}
	require.Equal(t, "HTTP/2.0", get("/"))
	slow, stopped := make(chan string, 1), make(chan error, 1)
	go func() { slow <- get("/slow") }()
	<-began
	go func() { stopped <- r.stop() }()
	<-time.After(400 * time.Millisecond)
	select {
	case err := <-stopped:
		t.Fatal("it ended before the last answer", err)
	default:
	}
	close(finish)
	assert.Equal(t, "HTTP/2.0", <-slow)
	assert.NoError(t, <-stopped)
	assert.Contains(t, get("/"), "connection refused")
}

// TestFramesAreNotTornApart writes frames in pieces of each size. The end is announced between two frames only, and not within a
// header block.
func TestFramesAreNotTornApart(t *testing.T) {
	frame := func(kind, flags byte, payload string) []byte {
		return append([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, 1}, payload...)
	}
	const headers, data, settings, continuation = 1, 0, 4, 9
	all := [][]byte{
		frame(settings, 0, ""), frame(headers, 0, "part"), frame(continuation, 4, "rest"), frame(data, 0, "some bytes"), frame(data, 1, ""),
	}
	// The numbers of written bytes after which the end may be announced.
	allowed, position := map[int]bool{}, 0
	var stream []byte
	for i, f := range all {
		position += len(f)
		allowed[position] = i != 1
		stream = append(stream, f...)
	}
	for size := 1; size <= len(stream); size++ {
		c := &conn{}
		for at := 0; at < len(stream); at += size {
			end := min(at+size, len(stream))
			c.follow(stream[at:end])
			between := c.started && !c.block && len(c.header) == 0
			assert.Equal(t, allowed[end], between, "after %d bytes, in pieces of %d", end, size)
		}
	}
}
