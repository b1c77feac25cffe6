package localcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// component is a process of the cluster that tests stop, kill and start by name.
type component struct {
	process
	// node runs it beside a node's init instead of the cluster's; 0 is the control plane.
	node int
	// ready says what is missing until the component does its work.
	ready func(context.Context) error
}

const startPatience = 90 * time.Second

// errEnded is final: nothing restarts a component but a call of this package.
var errEnded = errors.New("the process has ended")

// Components are the names that the methods below take, in the order in which Up starts them.
func (c *Cluster) Components() []string {
	var names []string
	for _, component := range c.components() {
		names = append(names, component.name)
	}
	return names
}

// components is the one table of what runs, in start order.
func (c *Cluster) components() []component {
	list := c.controlPlane()
	for i := 1; i <= c.cfg.Nodes; i++ {
		list = append(list, c.containerd(i), c.kubelet(i))
	}
	return append(list, c.addons()...)
}

// StartComponent starts one component unless it runs, and waits until it is ready.
func (c *Cluster) StartComponent(ctx context.Context, name string) error {
	component, err := c.component(name)
	if err != nil {
		return err
	}
	_, err = c.ensureComponent(ctx, component)
	return err
}

// StopComponent ends one component as an upgrade would, with SIGTERM.
func (c *Cluster) StopComponent(ctx context.Context, name string) error {
	if _, err := c.component(name); err != nil {
		return err
	}
	return c.terminate(ctx, name)
}

// KillComponent ends one component as a crash would, with SIGKILL. Containers go on when it is a kubelet or a containerd.
func (c *Cluster) KillComponent(ctx context.Context, name string) error {
	if _, err := c.component(name); err != nil {
		return err
	}
	return c.kill(ctx, name)
}

// RestartComponent stops one component and starts it again.
func (c *Cluster) RestartComponent(ctx context.Context, name string) error {
	if err := c.StopComponent(ctx, name); err != nil {
		return err
	}
	return c.StartComponent(ctx, name)
}

// ComponentPID is the process number of a running component, for tests that pause it or read its use of resources.
func (c *Cluster) ComponentPID(name string) (int, error) {
	r, err := readRecord(c.pidFile(name))
	if err != nil {
		return 0, err
	}
	if !r.alive() {
		return 0, fmt.Errorf("component %q does not run", name)
	}
	return r.PID, nil
}

func (c *Cluster) component(name string) (component, error) {
	if err := c.loadState(); err != nil {
		return component{}, err
	}
	list := c.components()
	i := slices.IndexFunc(list, func(component component) bool { return component.name == name })
	if i < 0 {
		return component{}, fmt.Errorf("component %q is not one of %v", name, c.Components())
	}
	return list[i], nil
}

func (c *Cluster) ensureComponent(ctx context.Context, component component) (started bool, err error) {
	init, err := c.initOf(component.node)
	if err != nil {
		return false, err
	}
	started, err = c.ensure(ctx, init, component.process)
	if err != nil {
		return false, err
	}
	if component.ready == nil {
		return started, nil
	}
	err = await(ctx, startPatience, func(ctx context.Context) error {
		if r, err := readRecord(c.pidFile(component.name)); err == nil && !r.alive() {
			return fmt.Errorf("%w: see %s", errEnded, c.logFile(component.name))
		}
		return component.ready(ctx)
	})
	if err != nil {
		return started, fmt.Errorf("wait for %s: %w", component.name, err)
	}
	return started, nil
}
