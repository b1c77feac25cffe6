package kubectl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kruise.io/kruise/pkg/kubectl/kubectltest"
)

// older is the CloneSet as OpenKruise stores it. This release does not know the field fromTheFuture.
var older = strings.NewReplacer("v1beta1", "v1alpha1", "rollingUpdate: {podUpdatePolicy: ReCreate}", "{type: InPlaceIfPossible, partition: 1}",
	"replicas: 5\n", "replicas: 5\n  fromTheFuture: {kept: true}\n").Replace(cloneSet)

// The cluster still runs OpenKruise: its kinds are CustomResourceDefinitions with only v1alpha1, which refuse strategic merge patches.
func TestWritesToCustomResourceDefinitions(t *testing.T) {
	server := kubectltest.New(t, older, revisions, pod, deployment, twoContainers, strings.ReplaceAll(schedules, "v1beta1", "v1alpha1")).Define()
	strategy := func() map[string]any {
		return spec(t, server, apps, "clonesets", "web")["updateStrategy"].(map[string]any)
	}
	run(t, server, "rollout", "pause", "clone/web")
	assert.Equal(t, map[string]any{"type": "InPlaceIfPossible", "partition": float64(1), "paused": true}, strategy())
	run(t, server, "rollout", "resume", "clone/web")
	assert.Equal(t, map[string]any{"type": "InPlaceIfPossible", "partition": float64(1)}, strategy())
	run(t, server, "set", "image", "clone/web", "main=nginx:3")
	run(t, server, "set", "env", "clone/web", "A=b", "--containers=main")
	run(t, server, "rollout", "restart", "clone/web")
	run(t, server, "patch", "clone/web", "-p", `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:2"}]}}}}`)
	found := containers(t, server, "clonesets", "web", ofTemplate...)
	assert.Equal(t, "nginx:3", found["main"]["image"])
	assert.Len(t, found["main"]["env"], 2)
	assert.Equal(t, "side:2", found["side"]["image"])
	run(t, server, "rollout", "undo", "clone/web")
	assert.Equal(t, "nginx:1", containers(t, server, "clonesets", "web", ofTemplate...)["main"]["image"])

	before := server.Get(t, apps, "clonesets", "web")
	run(t, server, "scaledown", "clone/web", "--pods=web-1", "--dry-run=server")
	assert.Equal(t, before, server.Get(t, apps, "clonesets", "web"))
	run(t, server, "scaledown", "clone/web", "--pods=web-1")
	reduced := spec(t, server, apps, "clonesets", "web")
	assert.EqualValues(t, 4, reduced["replicas"])
	assert.Equal(t, map[string]any{"podsToDelete": []any{"web-1"}}, reduced["scaleStrategy"])
	assert.Equal(t, map[string]any{"kept": true}, reduced["fromTheFuture"])
	assert.Equal(t, map[string]any{"type": "InPlaceIfPossible", "partition": float64(1)}, reduced["updateStrategy"])

	run(t, server, "migrate", "CloneSet", "--from=Deployment", "-n=default", "--src-name=old", "--create", "--dst-name=new")
	created := server.Get(t, apps, "clonesets", "new")
	assert.Equal(t, "apps.kruise.io/v1alpha1", created.GetAPIVersion())
	policy, _, _ := unstructured.NestedString(created.Object, "spec", "updateStrategy", "type")
	assert.Equal(t, "ReCreate", policy)
	run(t, server, "create", "crr", "r", "-p", "p")
	assert.Equal(t, "apps.kruise.io/v1alpha1", server.Get(t, apps, "containerrecreaterequests", "r").GetAPIVersion())
	run(t, server, "create", "ImagePullJob", "j", "--image=i:1", "--parallelism=5")
	assert.EqualValues(t, 5, spec(t, server, apps, "imagepulljobs", "j")["parallelism"])
	run(t, server, "create", "broadcastJob", "now", "--from=acj/nightly")
	assert.Equal(t, "apps.kruise.io/v1alpha1", server.Get(t, apps, "broadcastjobs", "now").GetAPIVersion())
}

// What a command prints does not depend on the version that is served.
func TestReadsOfCustomResourceDefinitions(t *testing.T) {
	server := kubectltest.New(t, older, revisions, pod, budget, strings.ReplaceAll(asts, "v1beta1", "v1alpha1")).Define()
	waiting := strings.ReplaceAll(older, "status: {observedGeneration: 2", "status: {observedGeneration: 1")
	for _, args := range [][]string{
		{"rollout", "status", "asts/db"}, {"rollout", "list"}, {"rollout", "history", "clone/web"}, {"get", "tree", "clone/web"},
		{"why", "clone/web"}, {"why", "podunavailablebudget/b"}, {"describe", "clone/web"}, {"get", "all"},
	} {
		assert.NotEmpty(t, run(t, server, args...), args)
	}
	assert.Contains(t, run(t, server, "rollout", "list"), "web")
	assert.Contains(t, run(t, server, "get", "tree", "clone/web"), "web-1")

	// A watch has each change in the version of the command.
	server = kubectltest.New(t, waiting, pod).Define()
	live := &onText{text: "spec update to be observed", call: func() {
		server.Put(t, strings.ReplaceAll(older, "{type: InPlaceIfPossible, partition: 1}", "{type: InPlaceIfPossible, paused: true}"))
		server.Put(t, strings.NewReplacer("partition: 1", "partition: 0", "updatedAvailableReplicas: 3, availableReplicas: 3",
			"updatedAvailableReplicas: 5, availableReplicas: 5").Replace(older))
	}}
	result := kubectltest.Watch(t, server, live, "rollout", "watch", "clone/web")
	require.Zero(t, result.Code, result.Err)
	assert.True(t, strings.HasSuffix(result.Out, "partitioned roll out complete: 5 new pods have been updated...\n"), result.Out)
}

func TestKindThatTheClusterDoesNotServe(t *testing.T) {
	server := kubectltest.New(t, twoContainers).Define().Omit(apps, "imagepulljobs")
	assert.Contains(t, fails(t, server, "create", "ImagePullJob", "j", "--image=i:1"),
		"the cluster does not serve imagepulljobs.apps.kruise.io: install Kruise, or a release of OpenKruise that has the kind")
	assert.Contains(t, fails(t, server, "rollout", "status", "clone/none"), `clonesets.apps.kruise.io "none" not found`)
}
