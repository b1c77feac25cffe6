package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// component is a process of the cluster that tests can stop, kill and start by name.
type component struct {
	process
	// node is the node whose init process starts the component. Zero means the control plane.
	node int
	// ready returns an error until the component works.
	ready func(context.Context) error
}

// startPatience is how long a component may take until it is ready.
const startPatience = 5 * time.Minute

// errEnded is permanent, because only calls of this package restart a component.
var errEnded = errors.New("the process has ended")

// Components returns the component names that the methods below accept, in start order.
func (c *Cluster) Components() []string {
	var names []string
	for _, component := range c.components() {
		names = append(names, component.name)
	}
	return names
}

// components returns the table of components, in start order.
func (c *Cluster) components() []component {
	list := c.controlPlane()
	for i := 1; i <= c.cfg.Nodes; i++ {
		list = append(list, c.containerd(i), c.kubelet(i))
	}
	return append(list, c.addons()...)
}

// StartComponent starts one component if it does not run, and waits until it is ready.
func (c *Cluster) StartComponent(ctx context.Context, name string) error {
	component, err := c.component(name)
	if err != nil {
		return err
	}
	_, err = c.ensureComponent(ctx, component)
	return err
}

// StopComponent stops one component with SIGTERM, as an upgrade does.
func (c *Cluster) StopComponent(ctx context.Context, name string) error {
	if _, err := c.component(name); err != nil {
		return err
	}
	return c.terminate(ctx, name)
}

// KillComponent stops one component with SIGKILL, like a crash. Containers survive the kill of a kubelet or containerd.
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

// ComponentPID returns the process ID of a running component. Tests use it to pause the process or to read its resource usage.
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

// component returns a component of a running cluster by its name.
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

// lastLines returns the last lines of a log, or an empty string if it cannot be read. The log of a test's cluster goes with the cluster.
func lastLines(file string) string {
	const bytes, lines = 4096, 10
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	last := strings.Split(strings.TrimSpace(string(content[max(0, len(content)-bytes):])), "\n")
	return strings.Join(last[max(0, len(last)-lines):], "\n")
}

// ensureComponent starts a component if necessary and waits until it is ready. It fails immediately if the process has ended.
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
	// A component that ended is not waited for.
	err = await(ctx, startPatience, func(ctx context.Context) error {
		if r, err := readRecord(c.pidFile(component.name)); err == nil && !r.alive() {
			return fmt.Errorf("%w: see %s\n%s", errEnded, c.logFile(component.name), lastLines(c.logFile(component.name)))
		}
		return component.ready(ctx)
	})
	if err != nil {
		return started, fmt.Errorf("wait for %s: %w", component.name, err)
	}
	return started, nil
}
