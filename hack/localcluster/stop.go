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

// stopAll ends the cluster's processes, and waits until the kernel has let go of its network and control groups.
// Nothing is asked to end in good order: etcd's log is on disk before it answers, and the rest keeps no state.
func (c *Cluster) stopAll(ctx context.Context) error {
	if s, err := c.readState(); err == nil {
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
