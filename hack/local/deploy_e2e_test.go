//go:build e2e

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

const cloneSet = `
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: kruise.local/demo:v1, imagePullPolicy: IfNotPresent}]
`

// TestDeployElsewhere runs the deploy command on a cluster other than that of "up", with images from a registry, as a user does.
func TestDeployElsewhere(t *testing.T) {
	root, err := checkout.Root()
	require.NoError(t, err)
	builder := images.Builder{ModuleRoot: root, Dir: filepath.Join(root, ".local", "images")}
	fixtures, err := builder.Build(t.Context(), images.Fixtures()...)
	require.NoError(t, err)
	config := localcluster.OwnedConfig(root, "elsewhere")
	config.Nodes, config.Registry, config.Storage = 2, true, true
	for _, image := range fixtures {
		config.Images = append(config.Images, image.Archive)
	}
	cluster, err := localcluster.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Down(context.WithoutCancel(t.Context()))) })
	require.NoError(t, cluster.Up(t.Context()))

	out, err := deployTo(t, cluster)
	require.Error(t, err)
	require.Contains(t, out, "push the archives of \"make images\"", "the cluster is not the local one and no repository is given")

	network, err := cluster.Network()
	require.NoError(t, err)
	repository := network.RegistryHost() + "/kruise"
	_, err = builder.Build(t.Context(), images.Programs()...)
	require.NoError(t, err)
	for _, program := range images.Programs() {
		_, err := images.Push(t.Context(), program, filepath.Join(builder.Dir, "bin", program.Name), repository+"/"+program.Name+":v7")
		require.NoError(t, err)
	}
	for range 2 { // The second run is an upgrade that changes nothing.
		out, err = deployTo(t, cluster, "IMAGE_REPOSITORY="+repository, "IMAGE_TAG=v7")
		require.NoError(t, err, out)
	}
	kubectl := func(stdin string, args ...string) string {
		out, err := cluster.Kubectl(t.Context(), strings.NewReader(stdin), args...)
		require.NoError(t, err)
		return out
	}
	kubectl(cloneSet, "apply", "-f", "-")
	kubectl("", "wait", "cloneset/web", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=120s")
	before := kubectl("", "get", "pods", "-l", "app=web", "--output=jsonpath={.items[*].metadata.uid}")
	kubectl(strings.ReplaceAll(cloneSet, "demo:v1", "demo:v2"), "apply", "-f", "-")
	kubectl("", "wait", "cloneset/web", "--for=jsonpath={.status.updatedReadyReplicas}=2", "--timeout=120s")
	assert.Equal(t, before, kubectl("", "get", "pods", "-l", "app=web", "--output=jsonpath={.items[*].metadata.uid}"), "updated in place")
	running := kubectl("", "get", "pods", "--namespace=kruise-system", "--output=jsonpath={.items[*].spec.containers[*].image}")
	for image := range strings.FieldsSeq(running) {
		assert.True(t, strings.HasPrefix(image, repository+"/"), image)
	}
}

// deployTo runs the same command as "make deploy".
func deployTo(t *testing.T, cluster *localcluster.Cluster, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", "deploy")
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig()), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
