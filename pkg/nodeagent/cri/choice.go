package cri

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/klog/v2"
)

// Choice is the runtime for work that belongs to no container, such as pulling images. It is the one that the kubelet uses. A node
// can have another one, for example one that only builds images. An image there is of no use for Pods.
type Choice struct {
	runtimes Runtimes
	// version returns status.nodeInfo.containerRuntimeVersion of the Node, such as containerd://2.1.0.
	version func(context.Context) (string, error)

	// mu guards chosen, which is nil until the choice is made. It is held while the Node is read, so concurrent callers read it once.
	mu     sync.Mutex
	chosen *Runtime
}

// NewChoice returns a choice among the runtimes of the node. It reads nothing. version is called only if there are several.
func NewChoice(runtimes Runtimes, version func(context.Context) (string, error)) *Choice {
	return &Choice{runtimes: runtimes, version: version}
}

// Runtime returns the runtime that the Node names. If the Node names none, it is the first one. It returns an error while the Node
// cannot be read, and if the agent did not find the runtime that the Node names.
func (c *Choice) Runtime(ctx context.Context) (*Runtime, error) {
	if len(c.runtimes) == 1 {
		return c.runtimes[0], nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chosen != nil {
		return c.chosen, nil
	}
	version, err := c.version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read which runtime the kubelet uses: %w", err)
	}
	// The kubelet writes the name that the runtime reports in front of the version.
	name, _, found := strings.Cut(version, "://")
	if !found {
		return c.runtimes[0], nil // The kubelet may write it later.
	}
	if c.chosen = c.runtimes.Named(name); c.chosen == nil {
		return nil, fmt.Errorf("the kubelet uses %s, and the agent did not find its socket; set --socket-file", version)
	}
	klog.FromContext(ctx).Info("Chose the container runtime of the kubelet", "runtime", name, "socket", c.chosen.Socket)
	return c.chosen, nil
}
