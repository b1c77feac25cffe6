//go:build bench

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/hack/localcluster"
	"kruise.io/kruise/test/hostcontroller"
)

// serverProcesses are processes of this machine. controller is that of the leader or of a standby.
type serverProcesses struct{ kube, etcd, kruise, controller int }

// cpuTime is CPU time of the servers. kruise contains the embedded store.
type cpuTime struct{ kube, etcd, kruise float64 }

func (c cpuTime) sum() float64 { return c.kube + c.etcd + c.kruise }

// less subtracts other times a factor.
func (c cpuTime) less(other cpuTime, factor float64) cpuTime {
	return cpuTime{c.kube - factor*other.kube, c.etcd - factor*other.etcd, c.kruise - factor*other.kruise}
}

// each divides by a number of calls.
func (c cpuTime) each(count int) cpuTime { return cpuTime{}.less(c, -1/float64(count)) }

// findServers finds the processes in this checkout's local cluster.
func (b *bench) findServers(ctx context.Context) (s serverProcesses, err error) {
	s, serversErr := b.findAPIServers(ctx)
	s.controller, err = b.processOf(ctx, "control-plane=controller-manager")
	return s, errors.Join(serversErr, err)
}

// findAPIServers leaves out the controller, which may be stopped.
func (b *bench) findAPIServers(ctx context.Context) (s serverProcesses, err error) {
	cluster, err := localCluster()
	if err != nil {
		return s, err
	}
	var kubeErr, etcdErr, kruiseErr error
	s.kube, kubeErr = cluster.ComponentPID("kube-apiserver")
	s.etcd, etcdErr = cluster.ComponentPID("etcd")
	s.kruise, kruiseErr = b.processOf(ctx, serverSelector)
	return s, errors.Join(kubeErr, etcdErr, kruiseErr)
}

func localCluster() (*localcluster.Cluster, error) {
	checkout, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return localcluster.New(localcluster.MainConfig(checkout))
}

// stopControllers stops kruise-controller-manager and kube-controller-manager, so that nobody reacts to what is written.
func (b *bench) stopControllers(ctx context.Context) (start func() error, err error) {
	const kubeControllers = "kube-controller-manager"
	cluster, err := localCluster()
	if err != nil {
		return nil, err
	}
	restore, err := b.rest(ctx, "kruise-controller-manager")
	if err != nil {
		return nil, err
	}
	start = func() error {
		defer restore()
		return cluster.StartComponent(context.WithoutCancel(ctx), kubeControllers)
	}
	if err := cluster.StopComponent(ctx, kubeControllers); err != nil {
		return nil, errors.Join(err, start())
	}
	return start, nil
}

// processOf waits for the process of the first Pod that a selector selects in our namespace: the Pod may have been created just now.
func (b *bench) processOf(ctx context.Context, selector string) (pid int, err error) {
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	waiting := until(ctx, func() bool {
		pid, err = b.findProcess(ctx, selector)
		return err == nil
	})
	if waiting != nil {
		return 0, err
	}
	return pid, nil
}

func (b *bench) findProcess(ctx context.Context, selector string) (int, error) {
	pods, err := b.core.CoreV1().Pods("kruise-system").List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil || len(pods.Items) == 0 {
		return 0, fmt.Errorf("find a Pod with %s in kruise-system: %d found: %w", selector, len(pods.Items), err)
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return 0, err
	}
	for _, file := range groups {
		text, err := os.ReadFile(file)
		if err != nil || !mentions(text, pods.Items[0].UID) {
			continue // The process may have ended.
		}
		name, err := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
		if err == nil && strings.TrimSpace(string(name)) != "pause" {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("find the process of Pod %s on this machine: no process has its cgroup", pods.Items[0].Name)
}

// mentions reports whether a cgroup's path contains the UID of a Pod, as either cgroup driver writes it.
func mentions(text []byte, uid types.UID) bool {
	return bytes.Contains(text, []byte(uid)) || bytes.Contains(text, []byte(strings.ReplaceAll(string(uid), "-", "_")))
}

// cpu reads the CPU time in ms that the servers have used.
func (s serverProcesses) cpu() (c cpuTime, err error) {
	for _, server := range []struct {
		pid int
		ms  *float64
	}{{s.kube, &c.kube}, {s.etcd, &c.etcd}, {s.kruise, &c.kruise}} {
		seconds, err := hostcontroller.CPU(server.pid)
		if err != nil {
			return c, err
		}
		*server.ms = 1000 * seconds
	}
	return c, nil
}

// idle measures the CPU time in ms that the servers use in a second without calls.
func (s serverProcesses) idle(ctx context.Context) (c cpuTime, err error) {
	if err := pause(ctx, calmFor); err != nil {
		return c, err
	}
	before, err := s.cpu()
	if err != nil {
		return c, err
	}
	if err := pause(ctx, idleFor); err != nil {
		return c, err
	}
	after, err := s.cpu()
	return cpuTime{}.less(after.less(before, 1), -1/idleFor.Seconds()), err
}

// giveOwnWeight moves processes out of the cgroups of their Pods into the cgroup for CPU time of this process, where kube-apiserver is
// too. On a machine where all programs share the CPUs, they otherwise get the small share that their Pods request, and on nodes of their
// own they would not wait. back moves them back.
func giveOwnWeight(pids ...int) (back func() error, err error) {
	own, err := cpuGroup(os.Getpid())
	if err != nil {
		return nil, err
	}
	var moved []func() error
	back = func() (err error) {
		for _, move := range moved {
			err = errors.Join(err, move())
		}
		return err
	}
	for _, pid := range pids {
		old, err := cpuGroup(pid)
		if err != nil {
			return nil, errors.Join(err, back())
		}
		into := func(group string) error {
			return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600)
		}
		if err := into(own); err != nil {
			return nil, errors.Join(fmt.Errorf("move process %d to the cgroup %s: %w", pid, own, err), back())
		}
		moved = append(moved, func() error { return into(old) })
	}
	return back, nil
}

// cpuGroup returns the directory of the cgroup that limits the CPU time of a process.
func cpuGroup(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", fmt.Errorf("find the cgroup of process %d: %w", pid, err)
	}
	const root = "/sys/fs/cgroup"
	unified := ""
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[1] == "cpu" || strings.HasPrefix(parts[1], "cpu,"):
			return filepath.Join(root, parts[1], parts[2]), nil
		case parts[1] == "":
			unified = filepath.Join(root, parts[2])
		}
	}
	return unified, nil
}
