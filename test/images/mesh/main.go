package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// version is set at link time.
var version = "unknown"

const (
	// servingSocket accepts connections while the container serves. It is not in the file system, which the program may not write. Both
	// containers of a Pod have the same network, so the version of the container is added.
	servingSocket = "@mesh-serving-"
	// waitPatience limits the wait of the hook.
	waitPatience = 30 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := start(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mesh:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context) error {
	waits := len(os.Args) == 2 && os.Args[1] == "wait"
	serving := servingSocket + os.Getenv("SIDECARSET_VERSION")
	switch {
	case version == "empty" && waits:
		return nil
	case version == "empty":
		<-ctx.Done()
		return nil
	case waits:
		return wait(ctx, serving)
	default:
		return run(ctx, cmp.Or(os.Getenv("ADDRESS"), ":8081"), cmp.Or(os.Getenv("HANDOVER"), "/handover/mesh.sock"), serving)
	}
}

// wait returns once something accepts connections on the socket.
func wait(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, waitPatience)
	defer cancel()
	for {
		if connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket); err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return errors.New("the proxy does not serve")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// run serves until ctx ends. It takes the listener over from the process at the socket, if there is one, and gives it to the next.
func run(ctx context.Context, address, handover, serving string) error {
	listener, err := takeOver(handover)
	if err != nil {
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
			return err
		}
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, version) //nolint:errcheck // The client went away.
	})}
	server.SetKeepAlivesEnabled(false)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	next, err := offer(ctx, handover)
	if err != nil {
		return err
	}
	ready, err := (&net.ListenConfig{}).Listen(ctx, "unix", serving)
	if err != nil {
		return err
	}
	defer func() { _ = ready.Close() }()
	handedOver := make(chan error, 1)
	go func() { handedOver <- giveTo(next, listener) }()
	select {
	case err := <-failed:
		return err
	case err := <-handedOver:
		if err != nil {
			return err
		}
	case <-ctx.Done():
	}
	// The next process has the socket, so connections that wait in it are not lost. Those that were accepted are answered.
	if deadline, ok := listener.(interface{ SetDeadline(time.Time) error }); ok {
		if err := deadline.SetDeadline(time.Unix(1, 0)); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// takeOver asks the process at the socket for its listener.
func takeOver(handover string) (net.Listener, error) {
	connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: handover, Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	rights := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := connection.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("take over the listener: %d messages, %w", len(messages), err)
	}
	descriptors, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 1 {
		return nil, fmt.Errorf("take over the listener: %d descriptors, %w", len(descriptors), err)
	}
	file := os.NewFile(uintptr(descriptors[0]), "listener")
	defer func() { _ = file.Close() }()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	_, err = connection.Write([]byte{1})
	return listener, err
}

// offer listens at the socket for the next process. It replaces the socket of the previous one.
func offer(ctx context.Context, handover string) (*net.UnixListener, error) {
	own := fmt.Sprintf("%s-%d", handover, time.Now().UnixNano())
	if err := os.MkdirAll(filepath.Dir(handover), 0o700); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", own)
	if err != nil {
		return nil, err
	}
	socket, ok := listener.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("%T is not a Unix listener", listener)
	}
	socket.SetUnlinkOnClose(false)
	return socket, os.Rename(own, handover)
}

// giveTo gives the listener to the next process that asks for it, and returns when that process has it.
func giveTo(next *net.UnixListener, listener net.Listener) error {
	defer func() { _ = next.Close() }()
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return fmt.Errorf("%T is not a TCP listener", listener)
	}
	for {
		connection, err := next.AcceptUnix()
		if err != nil {
			return err
		}
		if give(connection, tcp) == nil {
			return nil
		}
	}
}

func give(connection *net.UnixConn, listener *net.TCPListener) error {
	defer func() { _ = connection.Close() }()
	raw, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	// File and its Fd would make both listeners block.
	err = raw.Control(func(descriptor uintptr) {
		_, _, sent = connection.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(descriptor)), nil)
	})
	if err := errors.Join(err, sent); err != nil {
		return err
	}
	_, err = connection.Read(make([]byte, 1))
	return err
}
