package localcluster

import (
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PauseImage is the sandbox image of every Pod.
const PauseImage = "kruise.local/pause:1"

// keptDirs lists the folders that each node has for itself and keeps with its state. maskedDirs also contains those
// in memory. mountPoints lists those in keptDirs that may be missing on the host.
var (
	mountPoints = []string{"/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet"}
	keptDirs    = append([]string{"/var/log"}, mountPoints...)
	maskedDirs  = append([]string{"/run", "/var/run"}, keptDirs...)
)

// nodeName returns the name of a real node. The first one is 1.
func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// nodeDir returns a path in the state folder of a node.
func (c *Cluster) nodeDir(i int, elem ...string) string {
	return c.path(append([]string{nodeName(i)}, elem...)...)
}

// ContainerdComponent returns the component name of a node's containerd. The first node is 1.
func ContainerdComponent(node int) string { return fmt.Sprintf("containerd-%d", node) }

// KubeletComponent returns the component name of a node's kubelet.
func KubeletComponent(node int) string { return fmt.Sprintf("kubelet-%d", node) }

// StaticPods returns the folder from which a node's kubelet reads static Pod manifests.
func (c *Cluster) StaticPods(node int) string { return c.nodeDir(node, "static-pods") }

// containerd returns the component. Its program is that of the machine, unless the configuration says otherwise.
func (c *Cluster) containerd(i int) component {
	return component{
		node: i,
		process: process{
			name: ContainerdComponent(i), path: c.runtimeProgram("containerd"), ns: inNode,
			args: []string{"--config", c.nodeDir(i, "containerd.toml")},
		},
		ready: func(ctx context.Context) error {
			_, err := c.ctr(ctx, i, "version")
			return err
		},
	}
}

// kubelet returns the component. Its certificates are not in its arguments, so reads names them.
func (c *Cluster) kubelet(i int) component {
	args := []string{
		"--config=" + c.nodeDir(i, "kubelet.yaml"), "--kubeconfig=" + c.pki().kubeconfig(nodeName(i)),
		"--hostname-override=" + nodeName(i), "--node-ip=" + c.net.NodeIP(i), "--v=2",
		// Each minute the kubelet removes all but one of the instances of a container that do not run. One that is created but not started
		// yet counts too, so that by default the last instance, and with it lastState in the status, sometimes disappears.
		"--maximum-dead-containers-per-container=2",
	}
	reads := []string{c.pki().cert(clusterCA), c.pki().cert(nodeName(i)), c.pki().key(nodeName(i))}
	return component{
		node:    i,
		process: process{name: KubeletComponent(i), path: c.Binary("kubelet"), args: args, ns: inNode, reads: reads},
		ready:   func(ctx context.Context) error { return c.nodeReady(ctx, i) },
	}
}

// nodeReady asks the kubelet, and requires a Node lease that was renewed after the start of the kubelet. The
// condition of the Node alone may be older than a crash.
func (c *Cluster) nodeReady(ctx context.Context, i int) error {
	if err := c.get(ctx, fmt.Sprintf("http://%s:%d/healthz", c.net.NodeIP(i), kubeletHealthPort), ""); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, nodeName(i), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get node lease: %w", err)
	}
	// The pid file is written right after the start of the kubelet, so its time stands for the start.
	pidFile, err := os.Stat(c.pidFile(KubeletComponent(i)))
	if err != nil {
		return fmt.Errorf("find the start of the kubelet: %w", err)
	}
	if renewed := lease.Spec.RenewTime; renewed == nil || renewed.Time.Before(pidFile.ModTime()) {
		return fmt.Errorf("the lease of %s is not renewed", nodeName(i))
	}
	node, err := client.CoreV1().Nodes().Get(ctx, nodeName(i), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get node: %w", err)
	}
	return checkReady(node)
}

// checkReady returns why a node is not ready, or nil.
func checkReady(node *corev1.Node) error {
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status != corev1.ConditionTrue {
			return fmt.Errorf("%s is not ready: %s", node.Name, condition.Message)
		}
		return nil
	}
	return fmt.Errorf("%s has no Ready condition", node.Name)
}

// renderNode writes the configuration of the containerd, the kubelet and CNI of a node. Without the registry, nodes
// have no mirror.
func (c *Cluster) renderNode(i int) error {
	first, last := c.net.podRange(i)
	p := c.pki()
	values := map[string]any{
		"Dir": c.nodeDir(i), "PauseImage": PauseImage, "Snapshotter": snapshotter(c.cfg.Dir),
		"Bridge": bridge, "ClusterCIDR": c.net.ClusterCIDR(), "ControlPlaneIP": c.net.ControlPlaneIP(),
		"FirstPodIP": first, "LastPodIP": last,
		"NodeIP": c.net.NodeIP(i), "HealthPort": kubeletHealthPort, "Cgroup": "/" + c.cgroup() + "/" + nodeName(i),
		"CA": p.cert(clusterCA), "Cert": p.cert(nodeName(i)), "Key": p.key(nodeName(i)), "DNSServiceIP": c.net.DNSServiceIP(),
		"Registry": c.net.RegistryHost(), "StaticPods": c.StaticPods(i), "Shim": c.Binary("containerd-shim-runc-v2"),
		// Older kubelets do not have all fields.
		"CgroupV1Allowed": c.cfg.since(31), "RestartPeriod": c.cfg.since(32), "RestartGate": !c.cfg.since(35),
	}
	if err := os.MkdirAll(c.StaticPods(i), 0o755); err != nil {
		return fmt.Errorf("make folder of static Pods: %w", err)
	}
	files := map[string]string{
		c.runtimeTemplate(): "containerd.toml", "kubelet.yaml": "kubelet.yaml", "cni.conflist": "cni/10-pods.conflist",
	}
	if c.cfg.Registry {
		files["hosts.toml"] = "certs.d/_default/hosts.toml"
	}
	for template, file := range files {
		if err := renderTo(c.nodeDir(i, file), template, values); err != nil {
			return err
		}
	}
	return nil
}

// startRuntime creates the namespaces of a node, starts its containerd and imports the configured images.
func (c *Cluster) startRuntime(ctx context.Context, i int) error {
	if err := c.ensureNodeInit(ctx, i); err != nil {
		return err
	}
	if err := c.startEach(ctx, c.containerd(i)); err != nil {
		return err
	}
	return c.loadInto(ctx, i, c.cfg.Images)
}

// KillNode simulates a power failure: all processes of the node end immediately, without notice.
func (c *Cluster) KillNode(ctx context.Context, i int) error {
	for _, name := range []string{nodeName(i), KubeletComponent(i), ContainerdComponent(i)} {
		if err := c.kill(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// StartNode starts a killed node and waits until it is ready.
func (c *Cluster) StartNode(ctx context.Context, i int) error {
	if err := c.loadState(); err != nil {
		return err
	}
	if err := c.startRuntime(ctx, i); err != nil {
		return err
	}
	return c.startEach(ctx, c.kubelet(i))
}

// ensureNodeInit creates the namespaces of a node unless they are complete. A node whose start was interrupted has no
// mark, so it is created again.
func (c *Cluster) ensureNodeInit(ctx context.Context, i int) error {
	name := nodeName(i)
	r, err := readRecord(c.pidFile(name))
	if err != nil {
		return err
	}
	if r.alive() && exists(fmt.Sprintf("/proc/%d/root%s", r.PID, nodeCompleteMark)) {
		return nil
	}
	if err := c.kill(ctx, name); err != nil {
		return err
	}
	// The kubelet does not start without the group.
	if err := c.createCgroup(c.cgroup() + "/" + name); err != nil {
		return err
	}
	clusterInit, err := c.initOf(0)
	if err != nil {
		return err
	}
	if err := makeMountPoints(mountPoints); err != nil {
		return err
	}
	if r, err = c.startInitProcess(ctx, name, clusterInit); err != nil {
		return err
	}
	if _, err := run(ctx, r.PID, inNode, "sh", "-ec", c.mountScript(i)); err != nil {
		return fmt.Errorf("mount the folders of %s: %w", name, err)
	}
	return nil
}

// nodeCompleteMark is the file that mountScript creates at last, in the node's own /run.
const nodeCompleteMark = "/run/node-is-complete"

// mountScript mounts the folders that a node does not share with the host. /run is empty after each start, as after a
// boot. The others are kept with the state of the node. At the end all mounts become shared, because mounts of the
// kubelet must reach the containers.
func (c *Cluster) mountScript(i int) string {
	lines := []string{
		"mount --make-rprivate /",
		"mount -t proc none /proc",
		"mount -t tmpfs -o mode=755,nosuid,nodev tmpfs /run",
		"mkdir -p /run/lock /run/netns",
		// crun refuses machines that have both versions of cgroups, where containers use version 1.
		"! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified",
	}
	for _, dir := range keptDirs {
		own := c.nodeDir(i, "root", dir)
		lines = append(lines, fmt.Sprintf("mkdir -p '%s'", own), fmt.Sprintf("mount --bind '%s' '%s'", own, dir))
	}
	lines = append(lines, "mount --make-rshared /", "touch "+nodeCompleteMark)
	return strings.Join(lines, "\n")
}

// snapshotter returns overlayfs, unless dir is itself on an overlay, because overlays cannot be stacked here.
func snapshotter(dir string) string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil && filesystemOf(string(mounts), dir) == "overlay" {
		return "native"
	}
	return "overlayfs"
}

// filesystemOf returns the type of the file system that contains dir. The longest mount point above dir decides, and
// among equal mount points the last one.
func filesystemOf(mountinfo, dir string) string {
	var best, fsType string
	for line := range strings.Lines(mountinfo) {
		left, right, found := strings.Cut(line, " - ")
		fields, typed := strings.Fields(left), strings.Fields(right)
		const mountPoint = 4
		if !found || len(fields) <= mountPoint || len(typed) == 0 {
			continue
		}
		point := strings.TrimSuffix(fields[mountPoint], "/")
		if (dir == point || strings.HasPrefix(dir, point+"/")) && len(point) >= len(best) {
			best, fsType = point, typed[0]
		}
	}
	return fsType
}
