package kubectl_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
)

const sidecarSet = `apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: s}
spec:
  selector: {matchLabels: {app: web}}
  containers:
  - {name: side, image: "side:1", podInjectPolicy: BeforeAppContainer, upgradeStrategy: {upgradeType: HotUpgrade}}
  initContainers:
  - {name: prepare, image: "prepare:1"}`

// containers returns the images and variables of the containers at a path, by name.
func containers(t *testing.T, server *kubectltest.Server, plural, name string, path ...string) map[string]map[string]any {
	t.Helper()
	list, _, err := unstructured.NestedSlice(server.Get(t, apps, plural, name).Object, path...)
	assert.NoError(t, err)
	found := map[string]map[string]any{}
	for _, container := range list {
		read := container.(map[string]any)
		found[read["name"].(string)] = read
	}
	return found
}

var ofTemplate = []string{"spec", "template", "spec", "containers"}

// Cases kubectl-plugin 10, 21.
func TestSetImage(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		server := kubectltest.New(t, cloneSet).Prefer(version)
		assert.Equal(t, "cloneset.apps.kruise.io/web image updated\n", run(t, server, "set", "image", "clone/web", "main=nginx:3"))
		found := containers(t, server, "clonesets", "web", ofTemplate...)
		assert.Equal(t, "nginx:3", found["main"]["image"])
		assert.Equal(t, "side:1", found["side"]["image"])
		assert.Equal(t, `error: unable to find container named "none"`, fails(t, server, "set", "image", "clone/web", "none=nginx:3"))
		assert.Equal(t, "cloneset.apps.kruise.io/web image updated (dry run)\n",
			run(t, server, "set", "image", "clone/web", "*=nginx:4", "--dry-run=client"))
		assert.Len(t, server.Writes(), 1)
	}
}

// Case kubectl-plugin 11.
func TestSetImageOfASidecarSet(t *testing.T) {
	server := kubectltest.New(t, sidecarSet)
	assert.Equal(t, "sidecarset.apps.kruise.io/s image updated\n", run(t, server, "set", "image", "sidecarset/s", "side=side:2", "prepare=prepare:2"))
	assert.Equal(t, map[string]any{
		"name": "side", "image": "side:2", "podInjectPolicy": "BeforeAppContainer", "upgradeStrategy": map[string]any{"upgradeType": "HotUpgrade"},
	}, containers(t, server, "sidecarsets", "s", "spec", "containers")["side"])
	assert.Equal(t, "prepare:2", containers(t, server, "sidecarsets", "s", "spec", "initContainers")["prepare"]["image"])
}

// Case kubectl-plugin 12.
func TestSetEnv(t *testing.T) {
	server := kubectltest.New(t, cloneSet)
	assert.Equal(t, "cloneset.apps.kruise.io/web env updated\n", run(t, server, "set", "env", "clone/web", "-c", "main", "A=1"))
	assert.Equal(t, []any{map[string]any{"name": "A", "value": "1"}}, containers(t, server, "clonesets", "web", ofTemplate...)["main"]["env"])
	assert.Equal(t, "# CloneSet web, container main\nA=1\n# CloneSet web, container side\n", run(t, server, "set", "env", "clone/web", "--list"))
	run(t, server, "set", "env", "clone/web", "B=2", "--dry-run=client")
	assert.Len(t, server.Writes(), 1, "listing and a dry run write nothing")
	run(t, server, "set", "env", "clone/web", "A-")
	assert.Empty(t, containers(t, server, "clonesets", "web", ofTemplate...)["main"]["env"])
}

// Case kubectl-plugin 40.
func TestSetResourcesAndServiceAccount(t *testing.T) {
	server := kubectltest.New(t, cloneSet)
	assert.Equal(t, "cloneset.apps.kruise.io/web resource requirements updated\n",
		run(t, server, "set", "resources", "clone/web", "-c", "main", "--limits=cpu=1"))
	assert.Equal(t, map[string]any{"limits": map[string]any{"cpu": "1"}}, containers(t, server, "clonesets", "web", ofTemplate...)["main"]["resources"])
	assert.Equal(t, "cloneset.apps.kruise.io/web serviceaccount updated\n", run(t, server, "set", "serviceaccount", "clone/web", "robot"))
	account, _, _ := unstructured.NestedString(server.Get(t, apps, "clonesets", "web").Object, "spec", "template", "spec", "serviceAccountName")
	assert.Equal(t, "robot", account)
	assert.Contains(t, fails(t, server, "set", "resources", "clone/web"), "you must specify an update to requests or limits")
	assert.Contains(t, fails(t, server, "set", "selector", "clone/web", "a=b"), "setting a selector is only supported for Services")
}

// Case kubectl-plugin 19.
func TestExpose(t *testing.T) {
	server := kubectltest.New(t, cloneSet, asts)
	assert.Equal(t, "service/web exposed\n", run(t, server, "expose", "clone/web", "--port=80"))
	selector, _, _ := unstructured.NestedStringMap(server.Get(t, "", "services", "web").Object, "spec", "selector")
	assert.Equal(t, map[string]string{"app": "web"}, selector)
	assert.Contains(t, fails(t, server, "expose", "clone/web", "--name=other"), "couldn't find port via --port flag or introspection")
	assert.Contains(t, fails(t, server, "expose", "asts/db", "--port=80"), "cannot expose a StatefulSet.apps.kruise.io")
}

// Cases kubectl-plugin 20, 41.
func TestScale(t *testing.T) {
	server := kubectltest.New(t, cloneSet)
	assert.Equal(t, "cloneset.apps.kruise.io/web scaled\n", run(t, server, "scale", "clone/web", "--replicas=3"))
	replicas, _, _ := unstructured.NestedFieldNoCopy(server.Get(t, apps, "clonesets", "web").Object, "spec", "replicas")
	assert.EqualValues(t, 3, replicas)
	assert.Contains(t, server.Writes()[0].Path, "/clonesets/web/scale")
	assert.JSONEq(t, `{"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "name": "web"}`,
		run(t, server, "autoscale", "clone/web", "--max=9", "--dry-run=client", "-o", "jsonpath={.spec.scaleTargetRef}"))
}

// Case kubectl-plugin 28.
func TestLogsOfAWorkload(t *testing.T) {
	server := kubectltest.New(t, cloneSet, pod, sidecarSet)
	assert.Equal(t, "log of web-1\n", run(t, server, "logs", "clone/web"))
	assert.Contains(t, fails(t, server, "logs", "sidecarset/s"), "SidecarSet s does not select Pods: name one of its Pods")
}

// Case kubectl-plugin 26.
func TestCommandsOfKubectlThatTheProgramDoesNotHave(t *testing.T) {
	server := kubectltest.New(t, cloneSet)
	assert.Contains(t, fails(t, server, "delete", "clone/web"), `unknown command "delete" for "kubectl kruise"`)
	assert.Empty(t, server.Writes())
}

// A removed variable is gone, and the fields that only a SidecarSet has stay.
func TestSetEnvOfASidecarSet(t *testing.T) {
	server := kubectltest.New(t, sidecarSet)
	read := func() map[string]any {
		return containers(t, server, "sidecarsets", "s", "spec", "containers")["side"]
	}
	run(t, server, "set", "env", "sidecarset/s", "-c", "side", "A=1")
	assert.Equal(t, []any{map[string]any{"name": "A", "value": "1"}}, read()["env"])
	run(t, server, "set", "env", "sidecarset/s", "-c", "side", "A-")
	assert.Empty(t, read()["env"])
	assert.Equal(t, "BeforeAppContainer", read()["podInjectPolicy"])
}
