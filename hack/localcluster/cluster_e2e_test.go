//go:build e2e

package localcluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/hack/images"
)

const demo = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: demo, labels: {app: demo}}
spec:
  containers:
  - name: demo
    image: kruise.local/demo:v1
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
    volumeMounts: [{name: data, mountPath: /data}]
  - {name: pulled, image: registry.example.com/team/pause:9, imagePullPolicy: Always}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Service
metadata: {name: demo}
spec: {selector: {app: demo}, ports: [{port: 80, targetPort: 8080}]}
`

// TestCluster tests the life of a cluster: up, use, up again, all processes killed, up again, down, down again.
func TestCluster(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	builder := images.Builder{ModuleRoot: root, Dir: filepath.Join(root, ".local", "images")}
	fixtures, err := builder.Build(t.Context(), images.Fixtures()...)
	require.NoError(t, err)
	config := OwnedConfig(root, "lifecycle")
	config.Nodes, config.KWOKNodes, config.Registry, config.Storage, config.MetricsServer, config.Out = 1, 1, true, true, true, testWriter{t}
	for _, image := range fixtures {
		config.Images = append(config.Images, image.Archive)
	}
	cluster, err := New(config)
	require.NoError(t, err)
	require.NoError(t, cluster.Down(t.Context()))
	before := takeInventory(t, "none yet")
	t.Cleanup(func() { require.NoError(t, cluster.Down(context.WithoutCancel(t.Context()))) })

	require.NoError(t, cluster.Up(t.Context()))
	network, err := cluster.Network()
	require.NoError(t, err)
	target := network.RegistryHost() + "/team/pause:9"
	_, err = images.Push(t.Context(), images.Fixtures()[2], filepath.Join(builder.Dir, "bin", "pause-1"), target)
	require.NoError(t, err)
	_, err = cluster.Kubectl(t.Context(), strings.NewReader(demo), "apply", "-f", "-")
	require.NoError(t, err)
	cluster.answers(t)

	pids := cluster.pids(t)
	require.NoError(t, cluster.Up(t.Context()))
	assert.Equal(t, pids, cluster.pids(t), "a second Up restarts what is healthy")

	require.NoError(t, cluster.KillComponent(t.Context(), "etcd"))
	require.NoError(t, cluster.KillComponent(t.Context(), ContainerdComponent(1)))
	require.NoError(t, cluster.Up(t.Context()))
	for name, pid := range cluster.pids(t) {
		if name == "etcd" || name == ContainerdComponent(1) {
			assert.NotEqual(t, pids[name], pid, name)
		} else {
			assert.Equal(t, pids[name], pid, name)
		}
	}
	cluster.answers(t)

	cluster.killEverything(t)
	require.NoError(t, cluster.Up(t.Context()))
	cluster.answers(t)

	require.NoError(t, cluster.Down(t.Context()))
	require.NoError(t, cluster.Down(t.Context()))
	assert.Equal(t, before, takeInventory(t, network.Link()), "Down leaves something behind")
	assert.NoDirExists(t, config.Dir)
	assert.NoFileExists(t, config.Dir+".lock")
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(line []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

// answers waits until the demo answers on the address of its Service, from the host.
func (c *Cluster) answers(t *testing.T) {
	t.Helper()
	address, err := c.Kubectl(t.Context(), nil, "get", "service", "demo", "--output=jsonpath={.spec.clusterIP}")
	require.NoError(t, err)
	err = await(t.Context(), 2*time.Minute, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", http.NoBody)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // Read only.
		body, err := io.ReadAll(response.Body)
		if string(body) != "v1\n" {
			return fmt.Errorf("the demo answers %q: %w", body, err)
		}
		return nil
	})
	require.NoError(t, err)
	_, err = c.Kubectl(t.Context(), nil, "wait", "--for=condition=Ready", "pod/demo", "--timeout=60s")
	require.NoError(t, err, "the image of the second container comes from the registry")
}

func (c *Cluster) pids(t *testing.T) map[string]int {
	t.Helper()
	pids := map[string]int{}
	for _, name := range c.Components() {
		pid, err := c.ComponentPID(name)
		require.NoError(t, err)
		pids[name] = pid
	}
	return pids
}

// killEverything sends SIGKILL to every process in the namespaces of the cluster, to the init processes last.
func (c *Cluster) killEverything(t *testing.T) {
	t.Helper()
	inits, err := c.findInits()
	require.NoError(t, err)
	require.Len(t, inits, 1+c.cfg.Nodes)
	network, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", inits[0]))
	require.NoError(t, err)
	all, err := processes()
	require.NoError(t, err)
	killed := 0
	for _, pid := range append(all, inits...) {
		if link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && link == network {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	assert.Greater(t, killed, len(c.Components()))
}

// inventory lists what a cluster could leave behind on its host. For devices and routes it contains only those of the
// cluster, because others may change at any time.
type inventory struct {
	mounts, links, cgroups, routes, chains, namespaces, processes []string
}

func takeInventory(t *testing.T, link string) inventory {
	t.Helper()
	var found inventory
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	found.mounts = strings.Split(string(mounts), "\n")
	devices, err := net.Interfaces()
	require.NoError(t, err)
	for _, device := range devices {
		if device.Name == link {
			found.links = append(found.links, device.Name)
		}
	}
	hierarchies, err := cgroupHierarchies()
	require.NoError(t, err)
	for _, h := range hierarchies {
		groups, err := filepath.Glob(filepath.Join(h.path, cgroupPrefix+"lifecycle*"))
		require.NoError(t, err)
		found.cgroups = append(found.cgroups, groups...)
	}
	for _, pattern := range []string{"/run/netns/*", "/var/run/docker/netns/*"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		found.namespaces = append(found.namespaces, names...)
	}
	routes, err := run(t.Context(), 0, fromNowhere, "ip", "-4", "route")
	require.NoError(t, err)
	for line := range strings.Lines(routes) {
		if strings.Contains(line, " dev "+link+" ") {
			found.routes = append(found.routes, line)
		}
	}
	chains, err := run(t.Context(), 0, fromNowhere, "iptables-save")
	require.NoError(t, err)
	for line := range strings.Lines(chains) {
		if strings.Contains(line, "KUBE") || strings.Contains(line, "CNI") {
			found.chains = append(found.chains, line)
		}
	}
	all, err := processes()
	require.NoError(t, err)
	for _, pid := range all {
		command := strings.Join(commandLine(pid), " ")
		if strings.Contains(command, "clusters/lifecycle") || strings.Contains(command, "containerd-shim") && sameMounts(pid) {
			found.processes = append(found.processes, command)
		}
	}
	return found
}

// sameMounts returns true if a process shares the mount namespace of this one. The shims of other clusters never do.
func sameMounts(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/mnt")
	theirs, theirErr := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	return err == nil && theirErr == nil && own == theirs
}
