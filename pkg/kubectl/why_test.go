package kubectl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
)

const budget = `apiVersion: policy.kruise.io/v1beta1
kind: PodUnavailableBudget
metadata: {name: b}
status: {totalReplicas: 3, currentAvailable: 2, desiredAvailable: 2}`

// Case kubectl-plugin 30.
func TestWhy(t *testing.T) {
	warning := `apiVersion: v1
kind: Event
metadata: {name: e}
involvedObject: {uid: uid-of-db}
type: Warning
reason: FailedCreate
message: create Pod db-1 in StatefulSet db failed`
	waiting := strings.NewReplacer("  nodeName: node-1\n", "", "web-1", "web-2", `{type: Ready, status: "True"}`, `{type: PodScheduled, status: "False", message: full}`).Replace(pod)
	governed := strings.NewReplacer("web-1", "web-3", "  labels:", "  annotations: {kruise.io/related-pub: b}\n  labels:", `"True"`, `"False"`).Replace(pod)
	server := kubectltest.New(t, strings.ReplaceAll(asts, "updatedReplicas: 2, updatedAvailableReplicas: 2", "updatedReplicas: 1"),
		cloneSet, pod, waiting, governed, warning, budget, sidecarSet)
	for object, want := range map[string]string{
		"cloneset/web":           "CloneSet web waits for Pod web-2, which has no node: full; change its requests, its node selection, its claims or the nodes.\n",
		"asts/db":                "Advanced StatefulSet db has a warning: FailedCreate: create Pod db-1 in StatefulSet db failed; correct the cause; the controller then retries.\n",
		"pod/web-1":              "Pod web-1 is available; there is nothing to do.\n",
		"podunavailablebudget/b": "PodUnavailableBudget b allows no disruption because Pods are not ready: web-3; run: kubectl kruise why pod/web-3.\n",
	} {
		assert.Equal(t, want, run(t, server, "why", object))
	}
	assert.Contains(t, fails(t, server, "why", "sidecarset/s"), "why does not know SidecarSet.apps.kruise.io: name a cloneset")
	assert.Contains(t, fails(t, server, "why", "cloneset/none"), `clonesets.apps.kruise.io "none" not found`)
	assert.Empty(t, server.Writes())
}
