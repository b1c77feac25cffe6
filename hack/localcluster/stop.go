package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopAll ends the cluster's processes, and waits until the kernel has let go of its network and control groups.
// etcd goes first and in good order; the rest is torn away with its namespaces.
func (c *Cluster) stopAll(ctx context.Context) error {
	if s, err := c.readState(); err == nil {
		c.net = s.Network
	}
	if err := c.terminate(ctx, "etcd"); err != nil {
		return err
	}
	if err := c.killInits(ctx); err != nil {
		return err
	}
	records, err := filepath.Glob(c.path("run", "*.pid"))
	if err != nil {
		return fmt.Errorf("list pid files: %w", err)
	}
	for _, path := range records {
		if err := c.kill(ctx, strings.TrimSuffix(filepath.Base(path), ".pid")); err != nil {
			return err
		}
	}
	if err := c.awaitLinkGone(ctx); err != nil {
		return err
	}
	return c.removeCgroups(ctx)
}

// killInits ends the init processes of the cluster by what their arguments say, so that one whose pid file is lost is found too.
func (c *Cluster) killInits(ctx context.Context) error {
	pids, err := c.findInits()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		r, err := newRecord(pid, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill init process %d: %w", pid, err)
		}
		err = await(ctx, time.Minute, func(context.Context) error {
			if r.alive() {
				return fmt.Errorf("init process %d still runs after SIGKILL", pid)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findInits lists the processes that were started as <init> <Dir> <name>.
func (c *Cluster) findInits() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil {
			continue // It ended meanwhile.
		}
		args := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
		const initArgs = 3
		if len(args) == initArgs && args[0] == c.initPath() && args[1] == c.cfg.Dir {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func (c *Cluster) awaitLinkGone(ctx context.Context) error {
	if _, err := c.readState(); err != nil {
		return nil //nolint:nilerr // Without state the cluster never had a network.
	}
	const patience = 20 * time.Second
	return await(ctx, patience, func(context.Context) error {
		if _, err := net.InterfaceByName(c.net.Link()); err == nil {
			return fmt.Errorf("network device %s is still there", c.net.Link())
		}
		return nil
	})
}
