package cri

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	utilexec "k8s.io/utils/exec"
)

// MaxOutput is how many bytes a command may write to stdout and stderr together. Commands of Pods decide how much they
// write, and many run at once. The agent never reads a longer answer of the runtime.
const MaxOutput = 128 << 10

// maxAnswer adds the other fields of the answer to MaxOutput.
const maxAnswer = MaxOutput + 1<<10

var (
	// ErrTimedOut means that the runtime said that the command ran longer than its timeout.
	ErrTimedOut = errors.New("timed out")
	// ErrNotStarted means that the runtime answered that it could not run the command: there is no such program, or the container
	// does not run.
	ErrNotStarted = errors.New("not started")
	// ErrTooMuchOutput means that the command wrote more than MaxOutput. It has ended, and its exit status is unknown.
	ErrTooMuchOutput = fmt.Errorf("the output is longer than %d KiB", MaxOutput>>10)
)

// LateAnswer is how long the runtime may take beyond the timeout of a command. Its clock for the timeout starts when the command has
// started, which takes seconds on a busy node.
const LateAnswer = 30 * time.Second

// containers is a runtime service with its own ExecSync. The client of Kubernetes reads up to 16 MiB of output, and formats
// all of it into an error and the command into a log line.
type containers struct {
	internalapi.RuntimeService
	// conn is a connection of its own, because the one of the embedded service has another limit for answers.
	conn   *grpc.ClientConn
	client runtimeapi.RuntimeServiceClient
	// late is LateAnswer, except in tests.
	late time.Duration
}

// withExec replaces the ExecSync of service. It connects with the first call. The short delays of the connection let
// probes run soon after a restart of the runtime.
func withExec(service internalapi.RuntimeService, socket string) (internalapi.RuntimeService, error) {
	params := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: runtimeCallTimeout}
	params.Backoff.BaseDelay, params.Backoff.MaxDelay = 100*time.Millisecond, 3*time.Second
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), grpc.WithConnectParams(params),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("connect for commands: %w", err)
	}
	return &containers{RuntimeService: service, conn: conn, client: runtimeapi.NewRuntimeServiceClient(conn), late: LateAnswer}, nil
}

// Close implements internalapi.RuntimeService.
func (c *containers) Close(ctx context.Context) error {
	return errors.Join(c.RuntimeService.Close(ctx), c.conn.Close())
}

// ExecSync runs a command in a container. Its errors do not contain its output: an utilexec.ExitError
// if the command failed, ErrTimedOut, ErrTooMuchOutput, ErrNotStarted, or the error of a call that failed. Only the text of the
// last two comes from the runtime, which may mention the command.
func (c *containers) ExecSync(ctx context.Context, id string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error) {
	deadline := time.Now().Add(timeout + c.late)
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	// CRI counts in whole seconds, so the timeout is rounded up. A zero would mean no timeout.
	seconds := int64((timeout + time.Second - 1) / time.Second)
	response, err := c.client.ExecSync(limited, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: cmd, Timeout: seconds})
	// The time decides, not the context: the server ends the call at the same moment, and its error can arrive before the context ends.
	late := !time.Now().Before(deadline)
	switch {
	case err == nil:
	// The caller gave up, or the runtime is late: it may be busy, or wait for the output of a process that the command left behind.
	// Neither says anything about the command.
	case ctx.Err() != nil || late:
		return nil, nil, fmt.Errorf("the runtime did not answer within %v after the timeout of the command: %w", c.late, err)
	case status.Code(err) == codes.DeadlineExceeded:
		return nil, nil, fmt.Errorf("%w after %v", ErrTimedOut, timeout)
	case status.Code(err) == codes.ResourceExhausted:
		return nil, nil, ErrTooMuchOutput
	case status.Code(err) == codes.Unknown:
		return nil, nil, fmt.Errorf("%w: %s", ErrNotStarted, status.Convert(err).Message())
	default:
		return nil, nil, fmt.Errorf("run a command: %w", err)
	}
	if code := int(response.GetExitCode()); code != 0 {
		err = utilexec.CodeExitError{Err: fmt.Errorf("exit status %d", code), Code: code}
	}
	return response.GetStdout(), response.GetStderr(), err
}
