package kubectl_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/kubectltest"
)

const apps = "apps.kruise.io"

// asts is a StatefulSet whose rollout is complete.
const asts = `apiVersion: apps.kruise.io/v1beta1
kind: StatefulSet
metadata: {name: db, generation: 1}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: main, image: "db:1"}, {name: side, image: "side:1", env: [{name: A, value: b}]}]
status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, updatedReplicas: 2, updatedAvailableReplicas: 2, availableReplicas: 2,
  updateRevision: db-7}`

// run runs a command that must succeed, and returns its output.
func run(t *testing.T, server *kubectltest.Server, args ...string) string {
	t.Helper()
	result := kubectltest.Run(t, server, args...)
	require.Zero(t, result.Code, "%v: %s", args, result.Err)
	return result.Out
}

// fails runs a command that must fail, and returns its error.
func fails(t *testing.T, server *kubectltest.Server, args ...string) string {
	t.Helper()
	result := kubectltest.Run(t, server, args...)
	require.Equal(t, 1, result.Code, "%v: %s", args, result.Out)
	return result.Err
}

// Cases kubectl-plugin 1, 2, 25.
func TestUndoRestoresTheWholeTemplate(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		server := kubectltest.New(t, cloneSet, revisions).Prefer(version)
		preview := run(t, server, "rollout", "undo", "clone/web", "--dry-run=client")
		assert.Contains(t, preview, "cloneset.apps.kruise.io/web will roll back to Pod Template:")
		assert.Contains(t, preview, "nginx:1")
		assert.Equal(t, "cloneset.apps.kruise.io/web rolled back (server dry run)\n",
			run(t, server, "rollout", "undo", "clone/web", "--dry-run=server"))
		assert.Empty(t, server.Writes())

		assert.Equal(t, "cloneset.apps.kruise.io/web rolled back\n", run(t, server, "rollout", "undo", "clone/web"))
		template, _, _ := unstructured.NestedMap(server.Get(t, apps, "clonesets", "web").Object, "spec", "template")
		assert.Equal(t, map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "nginx:1"}}},
		}, template, "the label and the container that were added since are gone")

		assert.Equal(t, "cloneset.apps.kruise.io/web skipped rollback (current template already matches revision 1)\n",
			run(t, server, "rollout", "undo", "clone/web", "--to-revision=1"))
		assert.Len(t, server.Writes(), 1)
	}
}

func TestUndoOfARolloutUndoesItsWorkload(t *testing.T) {
	server := kubectltest.New(t, canary, strings.Replace(canary, "{name: web}", "{name: other}", 1), cloneSet, revisions)
	assert.Equal(t, "cloneset.apps.kruise.io/web rolled back (server dry run)\n",
		run(t, server, "rollout", "undo", "rollouts", "web", "--dry-run=server"))
	assert.Equal(t, "cloneset.apps.kruise.io/web rolled back\n", run(t, server, "rollout", "undo", "rollout/web", "rollout/other", "clone/web"),
		"a workload that several arguments mean is undone once")
	assert.Len(t, server.Writes(), 1)
	assert.Contains(t, run(t, server, "rollout", "undo", "rollout/web", "--to-revision=1"), "skipped rollback")
	assert.Contains(t, fails(t, server, "rollout", "undo", "rollout/cart"), `rollouts.rollouts.kruise.io "cart" not found`)

	// In the first version of Rollouts, the reference is in another place.
	older := strings.Replace(canary, "workloadRef: {apiVersion: apps.kruise.io/v1beta1", "objectRef: {workloadRef: {apiVersion: apps.kruise.io/v1alpha1", 1)
	server = kubectltest.New(t, strings.Replace(older, "kind: CloneSet, name: web}", "kind: CloneSet, name: web}}", 1), cloneSet, revisions)
	assert.Equal(t, "cloneset.apps.kruise.io/web rolled back\n", run(t, server, "rollout", "undo", "rollout/web"))
	server = kubectltest.New(t, strings.Replace(canary, "  workloadRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}\n", "", 1))
	assert.Contains(t, fails(t, server, "rollout", "undo", "rollout/web"), "rollout web has no workload to undo")
}

// Case kubectl-plugin 29a.
func TestFastUndoMovesTheTrafficBack(t *testing.T) {
	of := func(name string, current, next int) string {
		return fmt.Sprintf(`apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: %s}
spec: {strategy: {blueGreen: {steps: [{replicas: 50%%}, {replicas: 100%%, traffic: 0%%}, {replicas: 100%%, traffic: 50%%},
  {replicas: 100%%, matches: [{headers: []}]}]}}}
status: {blueGreenStatus: {currentStepIndex: %d, nextStepIndex: %d}}`, name, current, next)
	}
	server := kubectltest.New(t, of("web", 4, 5), of("half", 3, 4), of("begun", 2, 3), of("back", 3, 2), of("new", 0, 1), strings.Replace(canary, "{name: web}", "{name: plain}", 1), cloneSet)
	next := func(name string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(server.Get(t, "rollouts.kruise.io", "rollouts", name).Object, "status", "blueGreenStatus",
			"nextStepIndex")
		return value
	}
	assert.Equal(t, "rollout.rollouts.kruise.io/web rolled back\nrollout.rollouts.kruise.io/half rolled back\n",
		run(t, server, "rollout", "undo", "rollouts", "web", "half", "--fast"))
	assert.EqualValues(t, 2, next("web"), "the last step before those with traffic")
	assert.EqualValues(t, 2, next("half"))
	require.Len(t, server.Writes(), 2)
	for name, want := range map[string]string{
		"rollout/web":   `error: rollouts.rollouts.kruise.io "web" already rolled back`,
		"rollout/begun": `error: rollouts.rollouts.kruise.io "begun" already rolled back`,
		"rollout/back":  `error: rollouts.rollouts.kruise.io "back" already rolled back`,
		"rollout/new":   `error: rollouts.rollouts.kruise.io "new" has no earlier step without traffic; run rollout undo without --fast`,
		"rollout/plain": `error: rollouts.rollouts.kruise.io "plain" is not in a blue-green release; run rollout undo without --fast`,
		"clone/web":     `error: clonesets.apps.kruise.io "web" --fast only works for Rollouts; run rollout undo without it`,
	} {
		assert.Equal(t, want, fails(t, server, "rollout", "undo", name, "--fast"))
	}
	assert.Equal(t, "error: --fast cannot be used with --to-revision", fails(t, server, "rollout", "undo", "rollout/web", "--fast", "--to-revision=1"))
	assert.Equal(t, "error: required resource not specified", fails(t, server, "rollout", "undo", "--fast"))
	assert.Len(t, server.Writes(), 2, "an error changes nothing")
}

// Case kubectl-plugin 3.
func TestUndoNeedsARevision(t *testing.T) {
	first, _, _ := strings.Cut(revisions, "\n---\n")
	server := kubectltest.New(t, cloneSet, first)
	assert.Equal(t, "error: no last revision to roll back to", fails(t, server, "rollout", "undo", "clone/web"))
	assert.Equal(t, "error: no latest revision to roll back to", fails(t, kubectltest.New(t, asts), "rollout", "undo", "asts/db"))
	assert.Equal(t, "error: unable to find specified revision 9 in history",
		fails(t, server, "rollout", "undo", "clone/web", "--to-revision=9"))
	assert.Equal(t, "error: unable to find specified revision -1 in history",
		fails(t, server, "rollout", "undo", "clone/web", "--to-revision=-1"))
	assert.Equal(t, "error: required resource not specified", fails(t, server, "rollout", "undo"))
}

// Cases kubectl-plugin 6, 21.
func TestPauseAndResume(t *testing.T) {
	for version, path := range map[string][]string{
		"v1alpha1": {"spec", "updateStrategy", "paused"}, "v1beta1": {"spec", "updateStrategy", "rollingUpdate", "paused"},
	} {
		server := kubectltest.New(t, cloneSet).Prefer(version)
		paused := func() bool {
			value, _, _ := unstructured.NestedBool(server.Get(t, apps, "clonesets", "web").Object, path...)
			return value
		}
		assert.Equal(t, "cloneset.apps.kruise.io/web paused\n", run(t, server, "rollout", "pause", "clone/web"))
		assert.True(t, paused(), version)
		assert.Equal(t, `error: clonesets.apps.kruise.io "web" is already paused`, fails(t, server, "rollout", "pause", "clone/web"))
		assert.Equal(t, "cloneset.apps.kruise.io/web resumed\n", run(t, server, "rollout", "resume", "clone/web"))
		assert.False(t, paused(), version)
		assert.Equal(t, `error: clonesets.apps.kruise.io "web" is not paused`, fails(t, server, "rollout", "resume", "clone/web"))
	}
}

// Case kubectl-plugin 6a.
func TestPauseAndResumeARollout(t *testing.T) {
	server := kubectltest.New(t, canary, cloneSet)
	paused := func() bool {
		value, _, _ := unstructured.NestedBool(server.Get(t, "rollouts.kruise.io", "rollouts", "web").Object, "spec", "strategy", "paused")
		return value
	}
	assert.Equal(t, "rollout.rollouts.kruise.io/web paused\n", run(t, server, "rollout", "pause", "rollout/web"))
	assert.True(t, paused())
	assert.Equal(t, `error: rollouts.rollouts.kruise.io "web" is already paused`, fails(t, server, "rollout", "pause", "rollouts", "web"))
	assert.Equal(t, "rollout.rollouts.kruise.io/web\n", run(t, server, "rollout", "resume", "rollouts.rollouts.kruise.io", "web", "--output=name"))
	assert.False(t, paused())
	assert.Equal(t, `error: rollouts.rollouts.kruise.io "web" is not paused`, fails(t, server, "rollout", "resume", "rollout/web"))
	assert.Contains(t, fails(t, server, "rollout", "pause", "rollout/cart"), `rollouts.rollouts.kruise.io "cart" not found`)
}

func TestKindsThatCannotBePaused(t *testing.T) {
	server := kubectltest.New(t, sidecarSet)
	assert.Contains(t, fails(t, server, "rollout", "pause", "sidecarset/s"), "pausing is not supported")
	assert.Contains(t, fails(t, server, "rollout", "resume", "sidecarset/s"), "resuming is not supported")
	assert.Contains(t, fails(t, server, "rollout", "restart", "sidecarset/s"), "restarting is not supported")
	assert.Contains(t, fails(t, server, "rollout", "status", "sidecarset/s"), "no status viewer has been implemented for SidecarSet.apps.kruise.io")
}

// Case kubectl-plugin 9.
func TestRestartSetsAVariableInEveryContainer(t *testing.T) {
	server := kubectltest.New(t, asts, strings.ReplaceAll(asts, "name: db,", "name: other,"))
	assert.Equal(t, "statefulset.apps.kruise.io/db restarted\nstatefulset.apps.kruise.io/other restarted\n",
		run(t, server, "rollout", "restart", "asts", "db", "other"))
	for _, name := range []string{"db", "other"} {
		containers, _, _ := unstructured.NestedSlice(server.Get(t, apps, "statefulsets", name).Object, "spec", "template", "spec", "containers")
		require.Len(t, containers, 2)
		for _, container := range containers {
			names := []any{}
			for _, variable := range container.(map[string]any)["env"].([]any) {
				names = append(names, variable.(map[string]any)["name"])
			}
			assert.Contains(t, names, "RESTARTED_AT")
		}
		assert.Len(t, containers[1].(map[string]any)["env"], 2, "the other variable stays")
	}
}

// A workload that updates in place restarts its containers in place, and the workloads of a UnitedDeployment as each does by itself. The
// manager of OpenKruise cannot do so.
// Case kubectl-plugin 9.
func TestRestartInPlaceSetsTheAnnotationOfKubectl(t *testing.T) {
	united := `apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: zones, namespace: default}
spec:
  selector: {matchLabels: {app: zones}}
  template:
    cloneSetTemplate:
      metadata: {labels: {app: zones}}
      spec:
        selector: {matchLabels: {app: zones}}
        template:
          metadata: {labels: {app: zones}, annotations: {kept: "yes"}}
          spec: {containers: [{name: main, image: app:1}]}
  topology: {subsets: [{name: a}]}
`
	inPlace := strings.ReplaceAll(cloneSet, "podUpdatePolicy: ReCreate", "podUpdatePolicy: InPlaceOnly")
	require.NotEqual(t, cloneSet, inPlace)
	restartedAt := func(object *unstructured.Unstructured, path ...string) map[string]any {
		annotations, _, _ := unstructured.NestedMap(object.Object, append(path, "metadata", "annotations")...)
		return annotations
	}
	server := kubectltest.New(t, inPlace, united)
	assert.Equal(t, "cloneset.apps.kruise.io/web restarted\n", run(t, server, "rollout", "restart", "clone/web"))
	web := server.Get(t, apps, "clonesets", "web")
	assert.NotEmpty(t, restartedAt(web, "spec", "template")[pub.RestartedAtKey])
	assert.NotContains(t, fmt.Sprint(web.Object), "RESTARTED_AT")
	assert.Equal(t, "uniteddeployment.apps.kruise.io/zones restarted\n", run(t, server, "rollout", "restart", "uniteddeployment/zones"))
	annotations := restartedAt(server.Get(t, apps, "uniteddeployments", "zones"), "spec", "template", "cloneSetTemplate", "spec", "template")
	assert.NotEmpty(t, annotations[pub.RestartedAtKey])
	assert.Equal(t, "yes", annotations["kept"])

	server = kubectltest.New(t, older).Define()
	run(t, server, "rollout", "restart", "clone/web")
	web = server.Get(t, apps, "clonesets", "web")
	assert.Empty(t, restartedAt(web, "spec", "template")[pub.RestartedAtKey])
	assert.Contains(t, fmt.Sprint(web.Object), "RESTARTED_AT")
}

// Cases kubectl-plugin 7, 8.
func TestStatus(t *testing.T) {
	server := kubectltest.New(t, cloneSet, asts)
	assert.Equal(t, "Waiting for 2 pods to be ready...\n", run(t, server, "rollout", "status", "clone/web", "--watch=false"))
	assert.Equal(t, "Advanced StatefulSet rolling update complete 2 pods at revision db-7...\n", run(t, server, "rollout", "status", "asts/db"))
	assert.Equal(t, "Advanced StatefulSet rolling update complete 2 pods at revision db-7...\n",
		run(t, server, "rollout", "status", "asts/db", "--revision=3"), "the number is ignored, as for a StatefulSet of Kubernetes")
	assert.Equal(t, "error: timed out waiting for the condition", fails(t, server, "rollout", "status", "clone/web", "--timeout=1ms"))
}

// onText calls a function when a text is first printed.
type onText struct {
	text string
	once sync.Once
	call func()
}

func (o *onText) Write(data []byte) (int, error) {
	if strings.Contains(string(data), o.text) {
		o.once.Do(o.call)
	}
	return len(data), nil
}

// Case kubectl-plugin 8.
func TestStatusWaits(t *testing.T) {
	server := kubectltest.New(t, cloneSet)
	live := &onText{text: "Waiting for 2 pods", call: func() {
		server.Put(t, strings.ReplaceAll(cloneSet, "updatedAvailableReplicas: 3, availableReplicas: 3", "updatedAvailableReplicas: 5, availableReplicas: 5"))
	}}
	result := kubectltest.Watch(t, server, live, "rollout", "status", "clone/web")
	assert.Zero(t, result.Code)
	assert.Equal(t, "Waiting for 2 pods to be ready...\nCloneSet rolling update complete 5 pods at revision web-b...\n", result.Out)
}

// pod is a Pod of the CloneSet at its newest revision.
const pod = `apiVersion: v1
kind: Pod
metadata:
  name: web-1
  labels: {app: web, controller-revision-hash: web-b}
  ownerReferences: [{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web, uid: uid-of-web, controller: true}]
spec:
  nodeName: node-1
  containers: [{name: main, image: "nginx:2"}]
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}`

// Case kubectl-plugin 24.
func TestStatusWithThePods(t *testing.T) {
	waiting := strings.NewReplacer("web-1", "web-2", `"True"`, `"False"`).Replace(pod)
	old := strings.NewReplacer("web-1", "web-3", "web-b", "web-a").Replace(pod)
	server := kubectltest.New(t, cloneSet, pod, waiting, old)
	assert.Equal(t, "Waiting for 2 pods to be ready...\nUpdated ready pods: [web-1]\nUpdated not ready pods: [web-2]\n",
		run(t, server, "rollout", "status", "clone/web", "--watch=false", "-d"))
}
