package localcluster

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInputs changes each file of a rendered cluster, and checks which components would restart.
func TestInputs(t *testing.T) {
	t.Parallel()
	cluster := testCluster(t)
	cluster.cfg.BinDir = t.TempDir()
	require.NoError(t, cluster.renderAll())
	require.NoError(t, os.WriteFile(cluster.provisionerPath(), []byte("program"), 0o600))
	require.NoError(t, os.Symlink("kubelet@v1", cluster.Binary("kubelet")))
	inputs := func() map[string]string {
		found := map[string]string{}
		for _, component := range cluster.components() {
			digest, err := cluster.inputs(component.process)
			require.NoError(t, err)
			found[component.name] = digest
		}
		return found
	}
	last := inputs()
	assert.Equal(t, last, inputs())
	require.NoError(t, cluster.renderAll())
	assert.Equal(t, last, inputs(), "rendering the same again changes nothing")

	for path, want := range map[string][]string{
		cluster.nodeDir(1, "kubelet.yaml"):        {"kubelet-1"},
		cluster.nodeDir(2, "containerd.toml"):     {"containerd-2"},
		cluster.path("kube-proxy.yaml"):           {"kube-proxy"},
		cluster.path("registry.yaml"):             {"registry"},
		cluster.path("kwok.yaml"):                 {"kwok"},
		cluster.pki().cert("apiserver"):           {"kube-apiserver"},
		cluster.pki().key(nodeName(2)):            {"kubelet-2"},
		cluster.pki().kubeconfig("scheduler"):     {"kube-scheduler"},
		cluster.pki().kubeconfig("proxy"):         {"kube-proxy"},
		cluster.provisionerPath():                 {"provisioner"},
		cluster.path("etcd", "member"):            nil,
		cluster.path("run", "kube-apiserver.pid"): nil,
	} {
		old, err := os.ReadFile(path)
		if err != nil {
			old = nil
		}
		require.NoError(t, writeFile(path, append(old, '\n'), 0o600))
		assert.ElementsMatch(t, want, differing(last, inputs()), path)
		last = inputs()
	}
	require.NoError(t, link("kubelet@v2", cluster.Binary("kubelet")))
	assert.ElementsMatch(t, []string{"kubelet-1", "kubelet-2"}, differing(last, inputs()), "a new version of the program")
}

func differing(before, after map[string]string) []string {
	var names []string
	for name, digest := range after {
		if before[name] != digest {
			names = append(names, name)
		}
	}
	return names
}
