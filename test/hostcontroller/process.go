package hostcontroller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is one controller. It works without a lease, unless its arguments say otherwise: the caller makes sure that no other one runs.
type Process struct {
	binary, kubeconfig, logFile string
	args, env                   []string
	metrics, profiles           string
	command                     *exec.Cmd
	log                         *os.File
}

// Build builds the controller of the checkout, with further flags of go build, and returns the path of the program.
func Build(ctx context.Context, checkout, dir string, flags ...string) (string, error) {
	program := dir + "/controller"
	build := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, flags, []string{"-o", program, "./cmd/controller"})...)
	build.Dir = checkout
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the controller: %w: %s", err, out)
	}
	return program, nil
}

// New makes a process that does not run yet. What it logs is appended to a file.
func New(ctx context.Context, binary, kubeconfig, logFile string, args ...string) (*Process, error) {
	metrics, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	profiles, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return &Process{binary: binary, kubeconfig: kubeconfig, logFile: logFile, args: args, metrics: metrics, profiles: profiles}, nil
}

func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// Start begins to run. The context ends the process too.
func (p *Process) Start(ctx context.Context) error {
	args := append([]string{
		"--kubeconfig=" + p.kubeconfig, "--enable-leader-election=false", "--metrics-addr=" + p.metrics, "--health-probe-addr=0",
		"--enable-pprof=true", "--pprof-addr=" + p.profiles, "--rest-config-qps=-1",
	}, p.args...)
	var err error
	if p.log, err = os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return fmt.Errorf("open the controller's log: %w", err)
	}
	p.command = exec.CommandContext(ctx, p.binary, args...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.Env = append(os.Environ(), p.env...)
	if err := p.command.Start(); err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	return nil
}

// Kill ends the process as a crash would and returns when it is gone. A process that ended by itself is an error.
func (p *Process) Kill() error {
	killed := p.command.Process.Kill()
	waited := p.command.Wait()
	closed := p.log.Close()
	var exit *exec.ExitError
	if errors.As(waited, &exit) && exit.ExitCode() < 0 {
		waited = nil
	}
	return errors.Join(killed, waited, closed)
}

// Stop asks the process to end, as a cluster does, and returns when it is gone.
func (p *Process) Stop() error {
	asked := p.command.Process.Signal(syscall.SIGTERM)
	waited := p.command.Wait()
	return errors.Join(asked, waited, p.log.Close())
}

// PID is the running process's.
func (p *Process) PID() int { return p.command.Process.Pid }

// Metrics reads what the process says of itself, as soon as it answers.
func (p *Process) Metrics(ctx context.Context) (Metrics, error) {
	text, err := p.read(ctx, "http://"+p.metrics+"/metrics")
	return Metrics(text), err
}

// Heap is how many bytes live on the process's heap after a collection.
func (p *Process) Heap(ctx context.Context) (int64, error) {
	text, err := p.read(ctx, "http://"+p.profiles+"/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, "# HeapAlloc = "); found {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, errors.New("read the controller's heap: its profile names no HeapAlloc")
}

// Profile reads a profile, such as "heap" or "profile?seconds=10".
func (p *Process) Profile(ctx context.Context, query string) ([]byte, error) {
	text, err := p.read(ctx, "http://"+p.profiles+"/debug/pprof/"+query)
	return []byte(text), err
}

// read asks until there is an answer.
func (p *Process) read(ctx context.Context, url string) (string, error) {
	const tries, pause = 100, 100 * time.Millisecond
	var failure error
	for range tries {
		text, err := get(ctx, url)
		if err == nil {
			return text, nil
		}
		failure = err
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return "", fmt.Errorf("read %s of the controller: %w", url, failure)
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	return string(text), errors.Join(err, response.Body.Close())
}
