// Package critest provides a container runtime for tests. It answers the calls that make an endpoint usable, and handles
// pulls as the test tells it. It does not simulate containers. Enter at Start, or at StartContainerd for the real runtime.
package critest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Server is a runtime that listens on a socket.
type Server struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	name    string
	version string
	grpc    *grpc.Server
	images  images
}

// Start serves a runtime with the given name and version on a socket, until Stop or the end of the test.
func Start(t *testing.T, socket, name, version string) *Server {
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

// Dead creates a socket file that no process listens on.
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

// Version returns the name and version of the runtime.
func (s *Server) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: s.name, RuntimeVersion: s.version, RuntimeApiVersion: "v1",
	}, nil
}

// ImageFsInfo returns an empty answer.
func (s *Server) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{}, nil
}

func serve(t *testing.T, socket string, server *grpc.Server) {
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

func listen(t *testing.T, socket string) *net.UnixListener {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(socket), 0o700))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	require.NoError(t, err)
	return listener
}
