package kubectl_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
	"kruise.io/kruise/pkg/kubectl/kubectltest/golden"
)

const cloneSet = `apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata:
  name: web
  generation: 2
spec:
  replicas: 5
  selector:
    matchLabels: {app: web}
  updateStrategy:
    rollingUpdate: {podUpdatePolicy: ReCreate}
  template:
    metadata:
      labels: {app: web, added: later}
    spec:
      containers:
      - name: main
        image: nginx:2
      - name: side
        image: side:1
status: {observedGeneration: 2, replicas: 5, readyReplicas: 3, updatedReplicas: 5, updatedAvailableReplicas: 3, availableReplicas: 3,
  updateRevision: web-b}`

// revisions are those of the CloneSet. The second one is its template.
const revisions = `apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: web-a
  labels: {app: web}
  annotations: {kubernetes.io/change-cause: first version}
  ownerReferences: [{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web, uid: uid-of-web, controller: true}]
revision: 1
data: {spec: {template: {$patch: replace, metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "nginx:1"}]}}}}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: web-b
  labels: {app: web}
  ownerReferences: [{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web, uid: uid-of-web, controller: true}]
revision: 2
data: {spec: {template: {$patch: replace, metadata: {labels: {app: web, added: later}},
  spec: {containers: [{name: main, image: "nginx:2"}, {name: side, image: "side:1"}]}}}}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: other
  labels: {app: web}
revision: 7
data: {}`

func TestHelp(t *testing.T) {
	server := kubectltest.New(t)
	golden.Compare(t, "help.txt", kubectltest.Run(t, server).Out)
}

// Cases kubectl-plugin 3, 4, 5.
func TestHistory(t *testing.T) {
	server := kubectltest.New(t, cloneSet, revisions)
	for name, args := range map[string][]string{
		"history.txt":          {"rollout", "history", "clone/web"},
		"history-revision.txt": {"rollout", "history", "clone", "web", "--revision=1"},
		"history-missing.txt":  {"rollout", "history", "clone/web", "--revision=9"},
		"history-name.txt":     {"rollout", "history", "clone/web", "-o", "name"},
	} {
		t.Run(name, func(t *testing.T) {
			result := kubectltest.Run(t, server, args...)
			golden.Compare(t, name, result.Out+result.Err)
		})
	}
	assert.Empty(t, server.Writes())
}
