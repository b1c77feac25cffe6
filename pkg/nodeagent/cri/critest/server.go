// Package critest is a container runtime for tests: it answers what makes an endpoint usable, and pulls images as it is
// told. It owns no behaviour of containers. Enter at Start, or at StartContainerd for the real one.
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

// Server is a runtime at a socket.
type Server struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	name    string
	version string
	grpc    *grpc.Server
	images  images
}

// Start serves a runtime of that name and version at a socket until Stop or the test's end.
func Start(t *testing.T, socket, name, version string) *Server {
	t.Helper()
	server := &Server{name: name, version: version, grpc: grpc.NewServer()}
	runtimeapi.RegisterRuntimeServiceServer(server.grpc, server)
	runtimeapi.RegisterImageServiceServer(server.grpc, server)
	serve(t, socket, server.grpc)
	return server
}

// StartOther serves something that is no CRI v1 at a socket until the test's end.
func StartOther(t *testing.T, socket string) {
	t.Helper()
	serve(t, socket, grpc.NewServer())
}

// Dead leaves a socket behind that nobody listens at.
func Dead(t *testing.T, socket string) {
	t.Helper()
	listener := listen(t, socket)
	listener.SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
}

// Stop ends the runtime and removes its socket.
func (s *Server) Stop() {
	s.grpc.Stop()
}

// Version answers with the name and version of the runtime.
func (s *Server) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: s.name, RuntimeVersion: s.version, RuntimeApiVersion: "v1",
	}, nil
}

// ImageFsInfo answers that there is nothing.
func (s *Server) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{}, nil
}

func serve(t *testing.T, socket string, server *grpc.Server) {
	t.Helper()
	listener := listen(t, socket)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with Stop, and the test sees what it then misses
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
