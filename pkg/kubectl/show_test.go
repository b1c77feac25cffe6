package kubectl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
	"kruise.io/kruise/pkg/kubectl/kubectltest/golden"
)

const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-web-1}
status: {phase: Bound, capacity: {storage: 1Gi}}`

// family is the CloneSet with Pods of both revisions.
func family(t *testing.T) *kubectltest.Server {
	t.Helper()
	mounting := strings.Replace(pod, "spec:\n", "spec:\n  volumes: [{name: data, persistentVolumeClaim: {claimName: data-web-1}}]\n", 1)
	old := strings.NewReplacer("web-1", "web-2", "web-b", "web-a", `"True"`, `"False"`).Replace(pod)
	lost := strings.NewReplacer("web-1", "web-3", "web-b", "web-z").Replace(pod)
	return kubectltest.New(t, cloneSet, revisions, mounting, old, lost, claim, sidecarSet, budget)
}

// Case kubectl-plugin 34.
func TestTree(t *testing.T) {
	server := family(t)
	golden.Compare(t, "tree.txt", run(t, server, "get", "tree", "clone/web"))
	assert.Contains(t, fails(t, server, "get", "tree", "sidecarset/s"), "a tree is only available for CloneSets")
}

// Case kubectl-plugin 35.
func TestDescribe(t *testing.T) {
	golden.Compare(t, "describe.txt", run(t, family(t), "describe", "clone/web"))
	assert.Contains(t, run(t, family(t), "describe", "sidecarset/s"), "Pod Inject Policy:", "other kinds are described by kubectl")
}

// Case kubectl-plugin 37.
func TestGetAll(t *testing.T) {
	golden.Compare(t, "get-all.txt", run(t, family(t), "get", "all"))
	golden.Compare(t, "get-all.txt", run(t, family(t).Remove("rollouts.kruise.io", "rollouts"), "get", "all"))
}
