package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stopAll kills the processes of the cluster, removes its network device from the host and waits until the kernel has
// freed its cgroups. A graceful stop is not necessary: etcd syncs its log to disk before it answers, and the other
// components have no state.
func (c *Cluster) stopAll(ctx context.Context) error {
	// Without state, there can still be processes and control groups of a start that was interrupted.
	s, err := c.readState()
	if err == nil {
		c.net = s.Network
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
	if err := s.Device.remove(ctx); err != nil {
		return err
	}
	return c.removeCgroups(ctx)
}

// killInits kills the init processes of the cluster. It finds them by their arguments, because a pid file may be lost.
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

// findInits returns the processes that were started as <init> hold <Dir> <name>. The folder distinguishes clusters.
func (c *Cluster) findInits() ([]int, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var inits []int
	for _, pid := range all {
		args := commandLine(pid)
		if len(args) > 0 && slices.Equal(args[:len(args)-1], []string{c.initPath(), "hold", c.cfg.Dir}) {
			inits = append(inits, pid)
		}
	}
	return inits, nil
}

// remove deletes the device if it still exists, together with the cluster's end and the routes. The kernel would also do so, but
// only when it removes the namespace. It removes namespaces one after the other, which takes many seconds if many end at once.
func (d device) remove(ctx context.Context) error {
	if boot, err := bootID(); err != nil || boot != d.Boot {
		return err
	}
	gone := func() bool {
		_, err := net.InterfaceByIndex(d.Index)
		return err != nil
	}
	if gone() {
		return nil
	}
	if _, err := run(ctx, 0, fromNowhere, "ip", "link", "delete", "dev", fmt.Sprintf("if%d", d.Index)); err != nil && !gone() {
		return fmt.Errorf("remove the cluster's network device: %w", err)
	}
	return nil
}
