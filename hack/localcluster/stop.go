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

// stopAll ends the cluster's processes, takes its network device from the host and waits until the kernel frees its control groups.
// Nothing is asked to end in good order: etcd's log is on disk before it answers, and the rest keeps no state.
func (c *Cluster) stopAll(ctx context.Context) error {
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

// findInits lists the processes that were started as <init> hold <Dir> <name>.
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

// remove deletes the device if it is still there, and with it the cluster's end and the routes. The kernel would do so too, but only
// when it comes to the dead namespace: it ends those one after the other, which takes it many seconds when many end at once.
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
