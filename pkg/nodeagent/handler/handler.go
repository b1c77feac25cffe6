package handler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilexec "k8s.io/utils/exec"

	"kruise.io/kruise/pkg/nodeagent/cri"
)

// MaxOutput is how many bytes of a handler's output are kept. It becomes the message of a probe in the API.
const MaxOutput = 1024

// Outcome says whether a handler succeeded.
type Outcome int

const (
	// Unknown means that the handler did not run to an end, because the runtime or the agent failed and not the container.
	Unknown Outcome = iota
	// Succeeded means exit status 0, an open port, or an HTTP status from 200 to 399. For a hook, it also means any other HTTP status.
	Succeeded
	// Failed means any other end, including a timeout.
	Failed
)

// Result says how a handler ended.
type Result struct {
	Outcome Outcome
	// Reason says why the handler did not succeed. It contains no output of the container, so it is safe in events.
	Reason string
	// NotStarted is true if a command failed because the runtime could not start it. It does not exist, or the container has just
	// ended.
	NotStarted bool
	// Output is the beginning of what the container returned, at most MaxOutput bytes of UTF-8. If the handler failed without
	// an output, it is the error.
	Output string
}

// Runtime runs commands in containers by CRI. The errors are those of cri.Runtime: this package tells its own
// failures from those of the container by them.
type Runtime interface {
	ExecSync(ctx context.Context, containerID string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error)
}

// Target is the container that a handler acts on.
type Target struct {
	Runtime Runtime
	// ID is the container ID without the runtime name.
	ID string
	// IP is the address of the Pod. Requests go there unless the handler names a host.
	IP string
	// Ports are the ports that the handler may name.
	Ports []corev1.ContainerPort
	// UserAgent is the User-Agent of HTTP requests.
	UserAgent string
	// Hook applies the kubelet's rules of hooks to HTTP requests. Any answer is a success. A server that does not speak TLS is asked
	// again without it.
	Hook bool
}

// Run runs a handler for at most timeout. The outcome is Unknown if ctx ends first. A handler with several actions
// runs the first one, as exec before httpGet before tcpSocket.
func Run(ctx context.Context, target Target, handler *corev1.ProbeHandler, timeout time.Duration) Result {
	var result Result
	switch {
	case handler.Exec != nil:
		result = run(ctx, target, handler.Exec.Command, timeout)
	case handler.HTTPGet != nil:
		result = get(ctx, target, handler.HTTPGet, timeout)
	case handler.TCPSocket != nil:
		result = connect(ctx, target, handler.TCPSocket, timeout)
	default:
		return Result{Reason: "it has none of exec, httpGet and tcpSocket"}
	}
	// The result of a canceled run says nothing about the container, whatever the error is.
	if ctx.Err() != nil {
		return Result{Reason: "the agent stopped it"}
	}
	return result
}

// run runs a command in the container. The runtime enforces the timeout; the context is a limit for a runtime that
// does not.
func run(ctx context.Context, target Target, command []string, timeout time.Duration) Result {
	ctx, cancel := context.WithTimeout(ctx, timeout+cri.LateAnswer)
	defer cancel()
	stdout, stderr, err := target.Runtime.ExecSync(ctx, target.ID, command, timeout)
	var exit utilexec.ExitError
	switch {
	case err == nil:
		return Result{Outcome: Succeeded, Output: Cut(stdout)}
	case errors.As(err, &exit):
		return Result{Outcome: Failed, Reason: fmt.Sprintf("the command ended with status %d", exit.ExitStatus()), Output: Cut(stderr)}
	case errors.Is(err, cri.ErrTimedOut), errors.Is(err, cri.ErrTooMuchOutput):
		reason := "the command failed: " + err.Error()
		return Result{Outcome: Failed, Reason: reason, Output: reason}
	case errors.Is(err, cri.ErrNotStarted):
		return Result{Outcome: Failed, NotStarted: true, Reason: "the runtime could not start the command", Output: Cut([]byte(err.Error()))}
	default:
		return Result{Reason: "the runtime did not run the command", Output: Cut([]byte(err.Error()))}
	}
}

// connect opens a TCP connection.
func connect(ctx context.Context, target Target, action *corev1.TCPSocketAction, timeout time.Duration) Result {
	address, failure := addressOf(target, action.Host, action.Port)
	if failure != nil {
		return *failure
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return Result{Outcome: Failed, Reason: "the connection failed", Output: Cut([]byte(err.Error()))}
	}
	_ = conn.Close() // The port is open.
	return Result{Outcome: Succeeded}
}

// addressOf returns the host and port that a handler asks, or a result if it cannot run. A Pod without an address has
// an Unknown outcome, because its address may only be late. A wrong port is a failure.
func addressOf(target Target, host string, port intstr.IntOrString) (string, *Result) {
	if host == "" {
		host = target.IP
	}
	if host == "" {
		return "", &Result{Reason: "the Pod has no address"}
	}
	number, err := portNumber(port, target.Ports)
	if err != nil {
		return "", &Result{Outcome: Failed, Reason: err.Error(), Output: err.Error()}
	}
	return net.JoinHostPort(host, strconv.Itoa(number)), nil
}

// portNumber returns the number of a port. It looks up a port name among the ports of the container. A name that is a
// number is used as such, as the kubelet does.
func portNumber(port intstr.IntOrString, ports []corev1.ContainerPort) (int, error) {
	if port.Type == intstr.Int {
		return port.IntValue(), nil
	}
	for i := range ports {
		if ports[i].Name == port.StrVal {
			return int(ports[i].ContainerPort), nil
		}
	}
	number, err := strconv.Atoi(port.StrVal)
	if err != nil {
		return 0, fmt.Errorf("the container has no port named %q", port.StrVal)
	}
	return number, nil
}

// Cut returns the beginning of output as valid UTF-8, in at most MaxOutput bytes.
func Cut(output []byte) string {
	if len(output) <= MaxOutput {
		return strings.ToValidUTF8(string(output), "")
	}
	// Where a character is cut in two, its first bytes are dropped as invalid.
	return strings.ToValidUTF8(string(output[:MaxOutput]), "")
}
