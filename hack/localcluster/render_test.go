package localcluster

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
)

func testCluster(t *testing.T) *Cluster {
	t.Helper()
	cluster, err := New(Config{
		Name: "a", Dir: t.TempDir(), ModuleRoot: "/somewhere", Nodes: 2, KWOKNodes: 2, Registry: true, MetricsServer: true, Storage: true,
	})
	require.NoError(t, err)
	cluster.net = Network{Index: 3}
	return cluster
}

// TestRenderAll writes every file of a cluster and checks those that must follow rules of the kernel or of Kubernetes.
func TestRenderAll(t *testing.T) {
	t.Parallel()
	cluster := testCluster(t)
	require.NoError(t, cluster.renderAll())
	for node, ranges := range map[int][2]string{1: {"10.70.1.2", "10.70.1.254"}, 2: {"10.70.2.2", "10.70.2.254"}} {
		var kubelet struct{ Address, CgroupRoot string }
		data, err := os.ReadFile(cluster.nodeDir(node, "kubelet.yaml"))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(data, &kubelet))
		assert.Equal(t, cluster.net.NodeIP(node), kubelet.Address)
		assert.Equal(t, "/kruise-local-a/"+nodeName(node), kubelet.CgroupRoot)

		var cni struct {
			Plugins []struct {
				IPAM struct {
					Ranges [][]struct{ RangeStart, RangeEnd string }
				}
			}
		}
		data, err = os.ReadFile(cluster.nodeDir(node, "cni", "10-pods.conflist"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &cni))
		assert.Equal(t, ranges[0], cni.Plugins[0].IPAM.Ranges[0][0].RangeStart)
		assert.Equal(t, ranges[1], cni.Plugins[0].IPAM.Ranges[0][0].RangeEnd)
		assert.FileExists(t, cluster.nodeDir(node, "certs.d", "_default", "hosts.toml"))
	}
	config, err := clientcmd.LoadFromFile(cluster.pki().kubeconfig("admin"))
	require.NoError(t, err)
	assert.Equal(t, "https://10.70.0.1:6443", config.Clusters["local"].Server)
}

// TestKubeletsGetFieldsThatTheyKnow renders the kubelet's configuration for Kubernetes of several versions.
func TestKubeletsGetFieldsThatTheyKnow(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct{ cgroupV1, restarts, gate bool }{
		"":        {true, true, false},
		"1.30.14": {false, false, false},
		"1.31.0":  {true, false, false},
		"1.34.4":  {true, true, true},
		"1.35.0":  {true, true, false},
	} {
		cluster := testCluster(t)
		cluster.cfg.KubernetesVersion = version
		require.NoError(t, cluster.renderAll())
		data, err := os.ReadFile(cluster.nodeDir(1, "kubelet.yaml"))
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, yaml.Unmarshal(data, &fields), version)
		assert.Equal(t, want.cgroupV1, fields["failCgroupV1"] != nil, version)
		assert.Equal(t, want.restarts, fields["crashLoopBackOff"] != nil, version)
		assert.Equal(t, want.gate, fields["featureGates"] != nil, version)
	}
}

// TestManifestsParse parses the objects of every addon.
func TestManifestsParse(t *testing.T) {
	t.Parallel()
	for _, addon := range testCluster(t).addonTable() {
		if addon.template == "" {
			continue
		}
		addon.values["CABundle"] = "YQ=="
		data, err := render(addon.template, addon.values)
		require.NoError(t, err)
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data))
		objects := 0
		for {
			var object struct{ APIVersion, Kind string }
			if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err, addon.template)
			}
			if object.Kind != "" {
				assert.NotEmpty(t, object.APIVersion, addon.template)
				objects++
			}
		}
		assert.NotZero(t, objects, addon.template)
	}
}

func TestRenderRefusesAMissingValue(t *testing.T) {
	t.Parallel()
	_, err := render("hosts.toml", map[string]any{})
	require.ErrorContains(t, err, "Registry")
}

// TestPKI checks the authority and name of each certificate, and that a second call changes nothing.
func TestPKI(t *testing.T) {
	t.Parallel()
	p := pki{dir: filepath.Join(t.TempDir(), "pki"), api: "https://localhost:1"}
	list := identities(Network{}, 1)
	require.NoError(t, p.ensure(list))
	before, err := os.ReadFile(p.cert("node-1"))
	require.NoError(t, err)
	for _, id := range list {
		roots := x509.NewCertPool()
		ca, err := os.ReadFile(p.cert(id.ca))
		require.NoError(t, err)
		require.True(t, roots.AppendCertsFromPEM(ca))
		data, err := os.ReadFile(p.cert(id.file))
		require.NoError(t, err)
		block, _ := pem.Decode(data)
		cert, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		assert.Equal(t, id.cn, cert.Subject.CommonName)
		assert.Equal(t, id.groups, cert.Subject.Organization)
		for _, name := range append(id.names, "") {
			_, err = cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			require.NoError(t, err, "%s as %q", id.file, name)
		}
	}
	require.NoError(t, p.ensure(list))
	after, err := os.ReadFile(p.cert("node-1"))
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

const mountinfo = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:3 - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
42 27 0:39 / /data rw - overlay overlay rw
43 27 0:40 / /data2 rw - xfs /dev/vdb rw
`

func TestParseHierarchies(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []hierarchy{{"/sys/fs/cgroup/cpu", false}, {"/sys/fs/cgroup/unified", true}}, parseHierarchies(mountinfo))
}

func TestFilesystemOf(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{"/": "ext4", "/home/x": "ext4", "/data": "overlay", "/data/x": "overlay", "/data2/x": "xfs"} {
		assert.Equal(t, want, filesystemOf(mountinfo, dir), dir)
	}
}

// TestToolsArePinned reads the versions of all programs from the module that builds them.
func TestToolsArePinned(t *testing.T) {
	t.Parallel()
	versions, err := toolVersions(t.Context(), "binaries/go.mod")
	require.NoError(t, err)
	for _, tool := range tools() {
		assert.Regexp(t, `^v\d+\.\d+\.\d+`, versions[tool.module], tool.name)
	}
}

// TestLinksOfPrograms uses programs that are built already. Only kubectl's link has the chosen version.
func TestLinksOfPrograms(t *testing.T) {
	t.Parallel()
	chosen, usual := testCluster(t), testCluster(t)
	chosen.cfg.KubernetesVersion, chosen.cfg.BinDir = "1.32.9", t.TempDir()
	usual.cfg.BinDir = chosen.cfg.BinDir
	for _, name := range []string{"kubectl@v1.32.9", "kubectl@v1.36.3", "kubelet@v1.32.9", "kubelet@v1.36.3"} {
		require.NoError(t, os.WriteFile(filepath.Join(chosen.cfg.BinDir, name), nil, 0o600))
	}
	build := func(c *Cluster, version string) {
		for _, tool := range tools() {
			if tool.name == "kubectl" || tool.name == "kubelet" {
				require.NoError(t, c.ensureTool(t.Context(), "", tool, version))
			}
		}
	}
	target := func(name string) string {
		link, err := os.Readlink(usual.Binary(name))
		require.NoError(t, err)
		return link
	}
	build(usual, "v1.36.3")
	assert.Equal(t, "kubelet@v1.36.3", target("kubelet"))
	assert.Equal(t, "kubectl@v1.36.3", target("kubectl"))
	build(chosen, "v1.32.9")
	assert.Equal(t, "kubelet@v1.36.3", target("kubelet"))
	assert.Equal(t, "kubectl@v1.32.9", target("kubectl"))
}
