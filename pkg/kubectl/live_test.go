package kubectl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
	"kruise.io/kruise/pkg/kubectl/kubectltest/golden"
)

// done is the CloneSet after its rollout.
var done = strings.NewReplacer("updatedAvailableReplicas: 3, availableReplicas: 3", "updatedAvailableReplicas: 5, availableReplicas: 5").Replace(cloneSet)

// Case kubectl-plugin 33.
func TestWatchPrintsALineForEachChange(t *testing.T) {
	server := kubectltest.New(t, cloneSet, pod)
	live := &onText{text: "Waiting for 2 pods", call: func() { server.Put(t, done) }}
	result := kubectltest.Watch(t, server, live, "rollout", "watch", "clone/web")
	assert.Zero(t, result.Code, result.Err)
	assert.Equal(t, "Waiting for 2 pods to be ready...\nCloneSet rolling update complete 5 pods at revision web-b...\n", result.Out)
	assert.Contains(t, fails(t, kubectltest.New(t, sidecarSet), "rollout", "watch", "sidecarset/s"), "watching is only supported for CloneSets")
}

// Cases kubectl-plugin 23, 33.
func TestRolloutThatExceedsItsDeadlineFails(t *testing.T) {
	late := strings.ReplaceAll(cloneSet, "status: {", `status: {conditions: [{type: Progressing, status: "False", message: it has timed out}], `)
	server := kubectltest.New(t, late)
	assert.Contains(t, fails(t, server, "rollout", "watch", "clone/web"), "it has timed out")
	assert.Contains(t, fails(t, server, "rollout", "status", "clone/web"), `clonesets "web": it has timed out`)
}

// Case kubectl-plugin 31.
func TestListOfRollouts(t *testing.T) {
	paused := strings.NewReplacer("name: web", "name: held", "podUpdatePolicy: ReCreate", "paused: true, partition: 1",
		"updatedReplicas: 5", "updatedReplicas: 1").Replace(cloneSet)
	server := kubectltest.New(t, cloneSet, paused, asts)
	golden.Compare(t, "list.txt", run(t, server, "rollout", "list", "-A"))
	golden.Compare(t, "list-namespace.txt", run(t, server, "rollout", "list"))
	result := kubectltest.Run(t, server, "rollout", "list", "-n", "other")
	assert.Equal(t, "No rollouts are under way.\n", result.Err)
}

const rollouts = `apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: waiting}
status: {canaryStatus: {currentStepState: StepPaused}}
---
apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: busy}
status: {blueGreenStatus: {currentStepState: StepUpgrade}}
---
apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: idle}`

// Case kubectl-plugin 29.
func TestApprove(t *testing.T) {
	server := kubectltest.New(t, rollouts, cloneSet)
	assert.Equal(t, "rollout.rollouts.kruise.io/waiting approved\n", run(t, server, "rollout", "approve", "rollout/waiting"))
	state, _, _ := unstructured.NestedString(server.Get(t, "rollouts.kruise.io", "rollouts", "waiting").Object, "status", "canaryStatus", "currentStepState")
	assert.Equal(t, "StepReady", state)
	assert.Contains(t, server.Writes()[0].Path, "/rollouts/waiting/status")
	for object, message := range map[string]string{
		"rollout/waiting": "does not allow to approve, because current canary state is not 'StepPaused'",
		"rollout/busy":    "does not allow to approve, because current blue-green state is not 'StepPaused'",
		"rollout/idle":    "no need to approve: not in canary or blue-green progress",
		"clone/web":       `error: clonesets.apps.kruise.io "web" approving is not supported`,
	} {
		assert.Contains(t, fails(t, server, "rollout", "approve", object), message)
	}
	assert.Len(t, server.Writes(), 1)
}

// Case kubectl-plugin 27.
func TestCompletion(t *testing.T) {
	server := kubectltest.New(t, cloneSet, asts)
	assert.Contains(t, kubectltest.Run(t, server, "__complete", "rollout", "undo", "clonesets.apps.kruise.io", "").Out, "web\n")
	assert.Contains(t, kubectltest.Run(t, server, "__complete", "rollout", "undo", "clonesets.apps.kruise.io/").Out, "clonesets.apps.kruise.io/web\n")
	assert.Contains(t, kubectltest.Run(t, server, "__complete", "rollout", "").Out, "approve\t")
}

// Case kubectl-plugin 22.
func TestStatusOfEveryUpdatePolicy(t *testing.T) {
	inPlace := strings.ReplaceAll(cloneSet, "podUpdatePolicy: ReCreate", "podUpdatePolicy: InPlaceIfPossible")
	partition := strings.ReplaceAll(cloneSet, "podUpdatePolicy: ReCreate", "partition: 40%")
	inPlacePartition := strings.ReplaceAll(cloneSet, "podUpdatePolicy: ReCreate", "podUpdatePolicy: InPlaceIfPossible, partition: 40%")
	const counts = "updatedReplicas: 5, updatedAvailableReplicas: 3"
	for name, test := range map[string]struct{ object, old, new, want string }{
		"in place, not observed": {inPlace, "observedGeneration: 2", "observedGeneration: 1", "Waiting for CloneSet spec update to be observed..."},
		"in place, some updated": {inPlace, counts, "updatedReplicas: 2", "Waiting for partitioned roll out to finish: 2 out of 5 new pods have been updated..."},
		"in place, not ready":    {inPlace, "", "", "Waiting for 2 pods to be ready..."},
		"in place, done":         {inPlace, counts, "updatedReplicas: 5, updatedAvailableReplicas: 5", "partitioned roll out complete: 5 new pods have been updated..."},
		"partition, waiting":     {inPlacePartition, counts, "updatedReplicas: 2", "Waiting for partitioned roll out to finish: 2 out of 3 new pods have been updated..."},
		"partition, done":        {inPlacePartition, counts, "updatedReplicas: 3, updatedAvailableReplicas: 3", "partitioned roll out complete: 3 new pods have been updated..."},
		"recreate, some updated": {cloneSet, counts, "updatedReplicas: 2", "Waiting for 2 pods to be ready..."},
		"recreate, all ready":    {cloneSet, "readyReplicas: 3, " + counts, "readyReplicas: 5, updatedReplicas: 2", "Waiting for 5 pods to be ready..."},
		"recreate, partition":    {partition, counts, "updatedReplicas: 2", "Waiting for 2 pods to be ready..."},
		"recreate, partition, done": {partition, counts, "updatedReplicas: 3, updatedAvailableReplicas: 3",
			"CloneSet rolling update complete 3 pods at revision web-b..."},
		"StatefulSet, partition": {strings.ReplaceAll(asts, "spec:\n  replicas", "spec:\n  updateStrategy: {rollingUpdate: {partition: 1}}\n  replicas"), "updatedReplicas: 2", "updatedReplicas: 0",
			"Waiting for partitioned roll out to finish:0 out of 1 new pods has been updated..."},
		"StatefulSet, partition, done": {strings.ReplaceAll(asts, "spec:\n  replicas", "spec:\n  updateStrategy: {rollingUpdate: {partition: 1}}\n  replicas"), "", "",
			"Advanced StatefulSet rolling update complete 2 pods at revision db-7..."},
	} {
		t.Run(name, func(t *testing.T) {
			object := test.object
			if test.old != "" {
				object = strings.Replace(object, test.old, test.new, 1)
			}
			server := kubectltest.New(t, object)
			kind := map[bool]string{true: "asts/db", false: "clone/web"}[strings.Contains(object, "kind: StatefulSet")]
			assert.Equal(t, test.want+"\n", run(t, server, "rollout", "status", kind, "--watch=false"))
		})
	}
	onDelete := kubectltest.New(t, strings.ReplaceAll(cloneSet, "  updateStrategy:\n", "  updateStrategy:\n    type: OnDelete\n"))
	assert.Contains(t, fails(t, onDelete, "rollout", "status", "clone/web"), "rollout status is only available for RollingUpdate strategy type")
}
