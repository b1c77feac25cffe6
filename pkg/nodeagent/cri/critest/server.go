// Package critest provides a container runtime for tests. It answers the calls that make an endpoint usable, and handles
// pulls and commands as the test tells it. Its containers are those that the test adds. Enter at Start, or at StartContainerd
// for the real runtime.
package critest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Server is a runtime that listens on a socket. Calls without a method here answer Unimplemented.
type Server struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	name    string
	version string
	grpc    *grpc.Server
	images  images
	// allowed is how long the caller of the last stop waits, in nanoseconds.
	allowed atomic.Int64

	containers containers
	hangs      atomic.Bool
}

// Start serves a runtime with the given name and version on a socket, until Stop or the end of the test.
func Start(t testing.TB, socket, name, version string) *Server {
	t.Helper()
	server := &Server{name: name, version: version, grpc: grpc.NewServer()}
	runtimeapi.RegisterRuntimeServiceServer(server.grpc, server)
	runtimeapi.RegisterImageServiceServer(server.grpc, server)
	serve(t, socket, server.grpc)
	return server
}

// StartOther serves a gRPC server without CRI v1 on a socket until the end of the test.
func StartOther(t *testing.T, socket string) {
	t.Helper()
	serve(t, socket, grpc.NewServer())
}

// Dead creates a socket file that no process listens on, as a runtime that was killed leaves it.
func Dead(t *testing.T, socket string) {
	t.Helper()
	listener := listen(t, socket)
	listener.SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
}

// Stop stops the runtime and removes its socket.
func (s *Server) Stop() {
	s.grpc.Stop()
}

// Hang makes the runtime no longer tell its version.
func (s *Server) Hang() { s.hangs.Store(true) }

// Version returns the name and version of the runtime.
func (s *Server) Version(ctx context.Context, _ *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	if s.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: s.name, RuntimeVersion: s.version, RuntimeApiVersion: "v1",
	}, nil
}

// StopContainer succeeds at once.
func (s *Server) StopContainer(ctx context.Context, _ *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	// gRPC sends the deadline of the caller, so a test can check how patient it is.
	if deadline, bounded := ctx.Deadline(); bounded {
		s.allowed.Store(int64(time.Until(deadline)))
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

// AllowedForStop returns how long the caller of the last stop would have waited for the answer.
func (s *Server) AllowedForStop() time.Duration { return time.Duration(s.allowed.Load()) }

// ImageFsInfo returns an empty answer.
func (s *Server) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{}, nil
}

// serve serves on the socket until the end of the test, and waits for the end of the server.
func serve(t testing.TB, socket string, server *grpc.Server) {
	t.Helper()
	listener := listen(t, socket)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // Serve ends with Stop. A test notices any other error, because the answers are missing.
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
}

func listen(t testing.TB, socket string) *net.UnixListener {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(socket), 0o700))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	require.NoError(t, err)
	return listener
}
