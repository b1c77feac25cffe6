//go:build e2e && release

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/hack/checkout"
	"kruise.io/kruise/hack/images"
	"kruise.io/kruise/hack/localcluster"
)

// TestReleaseIsInstalled installs the chart and the images of .local/release with Helm, without any values, as a user does. Each
// program runs from the image of the release and prints its version.
func TestReleaseIsInstalled(t *testing.T) {
	root, err := checkout.Root()
	require.NoError(t, err)
	dir := filepath.Join(root, ".local", "release")
	charts, err := filepath.Glob(filepath.Join(dir, "kruise-*.tgz"))
	require.NoError(t, err)
	require.Len(t, charts, 1, "make release writes the release")
	archives, err := filepath.Glob(filepath.Join(dir, "*-linux-amd64.oci.tar"))
	require.NoError(t, err)
	require.Len(t, archives, len(workloads))
	builder := images.Builder{ModuleRoot: root, Dir: filepath.Join(root, ".local", "images")}
	fixtures, err := builder.Build(t.Context(), images.Fixtures()...)
	require.NoError(t, err)

	config := localcluster.OwnedConfig(root, "release")
	config.Nodes, config.Storage = 1, true
	for _, image := range fixtures {
		config.Images = append(config.Images, image.Archive)
	}
	cluster, err := localcluster.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Down(context.WithoutCancel(t.Context()))) })
	require.NoError(t, cluster.BuildBinaries(t.Context(), "helm"))
	require.NoError(t, cluster.Up(t.Context()))
	require.NoError(t, cluster.LoadImages(t.Context(), archives...))

	helm := exec.CommandContext(t.Context(), cluster.Binary("helm"), "install", "kruise", charts[0], "--namespace", releaseNamespace)
	helm.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig())
	out, err := helm.CombinedOutput()
	require.NoError(t, err, "%s", out)
	kubectl := func(stdin string, args ...string) string {
		out, err := cluster.Kubectl(t.Context(), strings.NewReader(stdin), args...)
		require.NoError(t, err)
		return strings.TrimSpace(out)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(charts[0]), "kruise-"), ".tgz")
	for i, workload := range workloads {
		kubectl("", "--namespace", installationNamespace, "rollout", "status", workload, "--timeout="+rolloutTimeout)
		image := kubectl("", "--namespace", installationNamespace, "get", workload, "--output=jsonpath={.spec.template.spec.containers[0].image}")
		assert.True(t, strings.HasSuffix(image, ":"+imageTag(version)), image)
		shown := kubectl("", "--namespace", installationNamespace, "exec", workload, "--", images.Programs()[i].Path, "--version")
		assert.Contains(t, shown, version, workload)
		t.Log(shown)
	}
	kubectl(cloneSet, "apply", "-f", "-")
	kubectl("", "wait", "cloneset/web", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=120s")
}

// imageTag returns a version as an image tag, which has no plus sign.
func imageTag(version string) string { return "v" + strings.ReplaceAll(version, "+", "-") }
