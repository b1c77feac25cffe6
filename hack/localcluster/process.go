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

// process is a program that continues to run after this one. It has a pid file, a log file and the namespaces that it runs in.
type process struct {
	// name is the name in pid and log files. dir is the working directory; empty means the state folder.
	name string
	path string
	args []string
	dir  string
	env  []string
	ns   namespaces
	// reads lists further files that the process reads at its start, besides those in its arguments.
	reads []string
}

// pidFile and logFile return the paths for a process.
func (c *Cluster) pidFile(name string) string { return filepath.Join(c.cfg.Dir, "run", name+".pid") }

func (c *Cluster) logFile(name string) string { return filepath.Join(c.cfg.LogDir, name+".log") }

// spawnPatience covers the moment after the start in which the kernel does not show the arguments of the new program yet.
const spawnPatience = 2 * time.Second

// ensure starts p next to the process init, unless p already runs with the same arguments and inputs. It returns true
// if it has started p.
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
	// A changed argument, file or program version needs a restart.
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

// start runs the init program inside the namespaces of the process init, which starts p. It waits until p has started.
func (c *Cluster) start(ctx context.Context, init int, p process, inputs string) error {
	if err := killOrphans(ctx, init, p.path); err != nil {
		return err
	}
	// The init program starts it as a child of process 1 of the namespaces, so it outlives this program.
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

// childOf returns the child of a process with these arguments. If there are several, it returns the highest process
// ID. At most one is alive, because ensure ends the old process before it starts a new one.
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

// killOrphans kills the children of a process that run a program and have no pid file: this program was killed after it had started
// them. They would hold the ports and locks that the next one needs.
func killOrphans(ctx context.Context, parent int, program string) error {
	pids, err := processes()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		stat, err := readStat(pid)
		command := commandLine(pid)
		if err != nil || stat.parent != parent || len(command) == 0 || command[0] != program {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill %s, process %d: %w", program, pid, err)
		}
		err = await(ctx, time.Minute, func(context.Context) error {
			if now, err := readStat(pid); err == nil && now.start == stat.start && now.running() {
				return fmt.Errorf("%s, process %d, still runs after SIGKILL", program, pid)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// longestLog is from which size on the log of a process is set aside when the process starts. One older log is kept.
const longestLog = 32 << 20

// openLog opens a log file to append to it.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() >= longestLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, fmt.Errorf("set log aside: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return file, nil
}

// command prepares a program whose output goes to its log file. The program outlives ctx. The caller closes the
// returned file after the start.
func (c *Cluster) command(ctx context.Context, p process) (*exec.Cmd, *os.File, error) {
	for _, dir := range []string{c.cfg.Dir, c.cfg.LogDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, nil, fmt.Errorf("create folder: %w", err)
		}
	}
	logFile, err := openLog(c.logFile(p.name))
	if err != nil {
		return nil, nil, err
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

// recordProcess writes the pid file of a process. A process that cannot be recorded is killed, because nothing could
// stop it later.
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

// terminate ends a recorded process with SIGTERM. After ten seconds it uses SIGKILL.
func (c *Cluster) terminate(ctx context.Context, name string) error {
	const patience = 10 * time.Second
	if err := c.signal(ctx, name, syscall.SIGTERM, patience); err == nil {
		return nil
	}
	return c.kill(ctx, name)
}

// kill ends a recorded process with SIGKILL and waits for its end.
func (c *Cluster) kill(ctx context.Context, name string) error {
	return c.signal(ctx, name, syscall.SIGKILL, time.Minute)
}

// signal sends sig to a recorded process, waits until the process has ended and removes its pid file. It returns nil
// if there is no process.
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

// run runs a command next to the process init and returns its output. An error contains the output as well.
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

// await repeats check until it succeeds or fails permanently. After patience, it returns the last error.
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
