package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is a program that outlives this one: it has a pid file, a log file and the namespaces it runs in.
type process struct {
	name string
	path string
	args []string
	dir  string
	env  []string
	ns   namespaces
	// reads are files that it reads at its start, beside those that its arguments name.
	reads []string
}

func (c *Cluster) pidFile(name string) string { return filepath.Join(c.cfg.Dir, "run", name+".pid") }

func (c *Cluster) logFile(name string) string { return filepath.Join(c.cfg.LogDir, name+".log") }

// spawnPatience covers the moment in which the kernel has a new program's arguments not yet in place.
const spawnPatience = 2 * time.Second

// ensure starts p beside the process init unless it already runs with the same arguments and inputs. It reports whether it started it.
func (c *Cluster) ensure(ctx context.Context, init int, p process) (bool, error) {
	command := append([]string{p.path}, p.args...)
	r, err := readRecord(c.pidFile(p.name))
	if err != nil {
		return false, err
	}
	inputs, err := c.inputs(p)
	if err != nil {
		return false, err
	}
	if r.alive() {
		if r.sameArgs(command) && r.Inputs == inputs {
			return false, nil
		}
		if err := c.terminate(ctx, p.name); err != nil {
			return false, err
		}
	}
	return true, c.start(ctx, init, p, inputs)
}

// start has the program started by the init process's own program, inside its namespaces, and waits until that is done.
func (c *Cluster) start(ctx context.Context, init int, p process, inputs string) error {
	spawn := p
	spawn.path, spawn.args = c.initPath(), append([]string{"spawn", p.path}, p.args...)
	cmd, logFile, err := c.command(ctx, spawn)
	if err != nil {
		return err
	}
	defer logFile.Close() //nolint:errcheck // The process has its own descriptor.
	if err = startIn(init, p.ns, cmd); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("start %s, see %s: %w", p.name, c.logFile(p.name), err)
	}
	command := append([]string{p.path}, p.args...)
	var pid int
	err = await(ctx, spawnPatience, func(context.Context) (err error) {
		pid, err = childOf(init, command)
		return err
	})
	if err != nil {
		return fmt.Errorf("start %s, see %s: %w", p.name, c.logFile(p.name), err)
	}
	return c.recordProcess(p.name, pid, command, inputs)
}

// childOf finds the child of a process that was started with these arguments. The highest number is the youngest but for a wrap,
// and there is never more than one alive: ensure ends the last before it starts the next.
func childOf(parent int, command []string) (int, error) {
	pids, err := processes()
	if err != nil {
		return 0, err
	}
	for _, pid := range slices.Backward(pids) {
		stat, err := readStat(pid)
		if err == nil && stat.parent == parent && stat.running() && slices.Equal(commandLine(pid), command) {
			return pid, nil
		}
	}
	return 0, errors.New("it ended at once")
}

func (c *Cluster) command(ctx context.Context, p process) (*exec.Cmd, *os.File, error) {
	for _, dir := range []string{c.cfg.Dir, c.cfg.LogDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, nil, fmt.Errorf("create folder: %w", err)
		}
	}
	logFile, err := os.OpenFile(c.logFile(p.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.path, p.args...)
	cmd.Dir = p.dir
	if cmd.Dir == "" {
		cmd.Dir = c.cfg.Dir
	}
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	return cmd, logFile, nil
}

func (c *Cluster) recordProcess(name string, pid int, command []string, inputs string) error {
	r, err := newRecord(pid, command)
	r.Inputs = inputs
	if err == nil {
		err = r.write(c.pidFile(name))
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", name, errors.Join(err, syscall.Kill(pid, syscall.SIGKILL)))
	}
	return nil
}

// terminate ends a recorded process: SIGTERM, and SIGKILL when it has not gone in ten seconds.
func (c *Cluster) terminate(ctx context.Context, name string) error {
	const patience = 10 * time.Second
	if err := c.signal(ctx, name, syscall.SIGTERM, patience); err == nil {
		return nil
	}
	return c.kill(ctx, name)
}

func (c *Cluster) kill(ctx context.Context, name string) error {
	return c.signal(ctx, name, syscall.SIGKILL, time.Minute)
}

// signal sends sig to a recorded process, waits until it has ended and removes its pid file. No process is no error.
func (c *Cluster) signal(ctx context.Context, name string, sig syscall.Signal, patience time.Duration) error {
	path := c.pidFile(name)
	r, err := readRecord(path)
	if err != nil {
		return err
	}
	if r.alive() {
		if err := syscall.Kill(r.PID, sig); err != nil {
			return fmt.Errorf("signal %s, process %d: %w", name, r.PID, err)
		}
	}
	err = await(ctx, patience, func(context.Context) error {
		if r.alive() {
			return fmt.Errorf("%s, process %d, still runs after %s", name, r.PID, sig)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove pid file: %w", err)
	}
	return nil
}

// run carries out a command beside the process init and returns what it printed; a failure holds that too.
func run(ctx context.Context, init int, ns namespaces, name string, args ...string) (string, error) {
	var out strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := startIn(init, ns, cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// await repeats check until it succeeds or can no more; when patience ends, its last error says what is missing.
func await(ctx context.Context, patience time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const interval = 100 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil || errors.Is(err, errEnded) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (after %s)", err, patience)
		case <-ticker.C:
		}
	}
}
