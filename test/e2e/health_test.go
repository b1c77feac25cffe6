//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// argoCD is the module whose health scripts a user of Argo CD has.
const argoCD = "github.com/argoproj/argo-cd/v3@v3.3.0"

// argoScripts returns the directory of the health scripts of Argo CD for kinds of apps.kruise.io.
var argoScripts = sync.OnceValues(func() (string, error) {
	command := exec.Command("go", "mod", "download", "-json", argoCD)
	command.Dir = os.TempDir() // Outside of the module, so that its go.sum stays as it is.
	out, err := command.Output()
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	err = json.Unmarshal(out, &module)
	return filepath.Join(module.Dir, "resource_customizations", "apps.kruise.io"), err
})

// judgedBy returns the status that a health script of Argo CD gives to an object.
func judgedBy(t *testing.T, script string, object *unstructured.Unstructured) string {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", luaValue(state, object.Object))
	require.NoError(t, state.DoString(script))
	result, ok := state.Get(-1).(*lua.LTable)
	require.True(t, ok)
	return lua.LVAsString(result.RawGetString("status"))
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, element := range value {
			table.RawSetString(key, luaValue(state, element))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, element := range value {
			table.Append(luaValue(state, element))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	}
	return lua.LNil
}

// documentedScript returns the script that the user guide gives for Argo CD.
func documentedScript(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/user/health.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```lua\n")
	require.True(t, found)
	script, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	return script
}

// objectsOf returns a dynamic client of the test's namespace.
func (e *env) objectsOf(version, resource string) dynamic.ResourceInterface {
	e.t.Helper()
	client, err := dynamic.NewForConfig(e.config)
	require.NoError(e.t, err)
	return client.Resource(schema.GroupVersionResource{Group: "apps.kruise.io", Version: version, Resource: resource}).Namespace(e.namespace)
}

// judged waits until kstatus and the documented script give these statuses to the object named web.
func (e *env) judged(what, resource, wantKstatus, wantArgo string) {
	e.t.Helper()
	script := documentedScript(e.t)
	e.eventually(what, func(c *require.Assertions, ctx context.Context) {
		object, err := e.objectsOf("v1beta1", resource).Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		result, err := status.Compute(object)
		c.NoError(err)
		got := result.Status.String() + " " + judgedBy(e.t, script, object)
		c.Equal(wantKstatus+" "+wantArgo, got, "%s %v", result.Message, object.Object["status"])
	})
}

// argoVersion is the version whose fields the scripts of Argo CD read.
var argoVersion = map[string]string{"CloneSet": "v1alpha1", "DaemonSet": "v1alpha1", "StatefulSet": "v1beta1"}

// judgedByArgo waits until the script that Argo CD has gives a status to the object named web.
func (e *env) judgedByArgo(what, kind, want string) {
	e.t.Helper()
	scripts, err := argoScripts()
	require.NoError(e.t, err)
	script, err := os.ReadFile(filepath.Join(scripts, kind, "health.lua"))
	require.NoError(e.t, err)
	e.eventually(what, func(c *require.Assertions, ctx context.Context) {
		object, err := e.objectsOf(argoVersion[kind], strings.ToLower(kind)+"s").Get(ctx, "web", metav1.GetOptions{})
		c.NoError(err)
		c.Equal(want, judgedBy(e.t, string(script), object), "%v", object.Object["status"])
	})
}

// watchJudgements records what kstatus says about each version of the object named web. The returned function stops the watch, and returns
// the versions that kstatus took for Current.
func (e *env) watchJudgements(resource string) (current func() []*unstructured.Unstructured) {
	e.t.Helper()
	watcher, err := e.objectsOf("v1beta1", resource).Watch(e.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=web"})
	require.NoError(e.t, err)
	var found []*unstructured.Unstructured
	var group sync.WaitGroup
	group.Go(func() {
		for event := range watcher.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			result, err := status.Compute(object)
			if assert.NoError(e.t, err) && result.Status == status.CurrentStatus {
				found = append(found, object)
			}
		}
	})
	return func() []*unstructured.Unstructured {
		watcher.Stop()
		group.Wait()
		return found
	}
}

const healthPod = `
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent}]
`

// TestToolsJudgeCloneSetsRightly goes through a rollout with a partition, a pause and an image that does not exist.
func TestToolsJudgeCloneSetsRightly(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	manifest := func(image, rolling string) string {
		deadline := "600"
		if image == "absent:v9" {
			deadline = "10"
		}
		return replaced(`apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: web}
spec:
  replicas: 2
  progressDeadlineSeconds: DEADLINE
  selector: {matchLabels: {app: web}}
  updateStrategy: {rollingUpdate: {ROLLING}}`+healthPod, "demo:v1", image, "ROLLING", rolling, "DEADLINE", deadline)
	}
	e.apply(manifest("demo:v1", ""))
	e.judged("ready", "clonesets", "Current", "Healthy")
	e.judgedByArgo("ready", "CloneSet", "Healthy")

	current := e.watchJudgements("clonesets")
	e.apply(manifest("demo:v2", "partition: 1"))
	e.judged("the partition is reached", "clonesets", "Current", "Healthy")
	e.judgedByArgo("the partition is reached", "CloneSet", "Suspended")
	e.apply(manifest("demo:v2", "partition: 0, paused: true"))
	e.judged("paused", "clonesets", "InProgress", "Suspended")
	e.judgedByArgo("paused", "CloneSet", "Suspended")
	e.apply(manifest("demo:v2", ""))
	e.judged("complete", "clonesets", "Current", "Healthy")
	e.judgedByArgo("complete", "CloneSet", "Healthy")
	e.kubectl("scale", "cloneset", "web", "--replicas=3")
	e.ready("web", 3)
	e.judged("scaled", "clonesets", "Current", "Healthy")
	e.kubectl("scale", "cloneset", "web", "--replicas=2")
	e.ready("web", 2)
	e.judged("scaled in", "clonesets", "Current", "Healthy")

	e.apply(manifest("absent:v9", ""))
	e.judged("an image that does not exist", "clonesets", "Failed", "Degraded")
	// The script takes updatedAvailableReplicas, which is absent while it is zero, for a sign of a pause.
	e.judgedByArgo("an image that does not exist", "CloneSet", "Suspended")
	e.apply(manifest("demo:v2", ""))
	e.judged("back", "clonesets", "Current", "Healthy")

	seen := current()
	assert.NotEmpty(t, seen)
	for _, object := range seen {
		set := &v1beta1.CloneSet{}
		content, err := object.MarshalJSON()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(content, set))
		assert.Equal(t, set.Generation, set.Status.ObservedGeneration)
		assert.Equal(t, *set.Spec.Replicas, set.Status.AvailableReplicas, "at %s", set.ResourceVersion)
		assert.GreaterOrEqual(t, set.Status.UpdatedAvailableReplicas, set.Status.ExpectedUpdatedReplicas, "at %s", set.ResourceVersion)
	}
}

// TestToolsJudgeOtherWorkloadsRightly updates one workload of each other kind, and looks at every version of it.
func TestToolsJudgeOtherWorkloadsRightly(t *testing.T) {
	t.Parallel()
	workloads := map[string]string{
		"StatefulSet": "  replicas: 2\n  podManagementPolicy: Parallel\n  selector: {matchLabels: {app: web}}" + healthPod,
		"DaemonSet":   "  selector: {matchLabels: {app: web}}" + healthPod,
		"UnitedDeployment": `  replicas: 2
  selector: {matchLabels: {app: web}}
  topology: {subsets: [{name: a}, {name: b}]}
  template:
    cloneSetTemplate:
      metadata: {labels: {app: web}}
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            terminationGracePeriodSeconds: 1
            containers: [{name: main, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent}]
`,
	}
	// count returns how many Pods of each kind are to be at the newest revision, and how many are.
	count := map[string]func(*unstructured.Unstructured) (want, have int64){
		"StatefulSet":      numbers("spec.replicas", "status.updatedAvailableReplicas"),
		"DaemonSet":        numbers("status.desiredNumberScheduled", "status.updatedNumberScheduled"),
		"UnitedDeployment": numbers("spec.replicas", "status.updatedReadyReplicas"),
	}
	for kind, spec := range workloads {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			resource := strings.ToLower(kind) + "s"
			manifest := "apiVersion: apps.kruise.io/v1beta1\nkind: " + kind + "\nmetadata: {name: web}\nspec:\n" + spec
			e.apply(manifest)
			e.judged("ready", resource, "Current", "Healthy")
			if kind != "UnitedDeployment" {
				e.judgedByArgo("ready", kind, "Healthy")
			}
			current := e.watchJudgements(resource)
			e.apply(replaced(manifest, "demo:v1", "absent:v9"))
			e.judged("an image that does not exist", resource, "InProgress", "Progressing")
			e.apply(replaced(manifest, "demo:v1", "demo:v2"))
			e.judged("updated", resource, "Current", "Healthy")
			if kind != "UnitedDeployment" {
				e.judgedByArgo("updated", kind, "Healthy")
			}
			seen := current()
			assert.NotEmpty(t, seen)
			for _, object := range seen {
				want, have := count[kind](object)
				assert.Equal(t, want, have, "at %s: %v", object.GetResourceVersion(), object.Object["status"])
			}
		})
	}
}

// numbers reads two numbers of an object, given by their paths.
func numbers(paths ...string) func(*unstructured.Unstructured) (want, have int64) {
	return func(object *unstructured.Unstructured) (want, have int64) {
		want, _, _ = unstructured.NestedInt64(object.Object, strings.Split(paths[0], ".")...)
		have, _, _ = unstructured.NestedInt64(object.Object, strings.Split(paths[1], ".")...)
		return want, have
	}
}
