//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/hack/images"
)

// buildPlugin compiles the plugin once for all tests. Beside it is the link by which kubectl asks it to complete arguments.
var buildPlugin = sync.OnceValues(func() (string, error) {
	root := filepath.Join("..", "..")
	dir, err := filepath.Abs(filepath.Join(root, ".local", "e2e"))
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, images.Plugin().Name)
	build := exec.Command("go", "build", "-o", out, images.Plugin().Package) // It outlives the first test.
	build.Dir = root
	if printed, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, printed)
	}
	link := filepath.Join(dir, "kubectl_complete-kruise")
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return out, os.Symlink(out, link)
})

// plugin runs the plugin in the test's namespace. It returns what it printed on both outputs.
func (e *env) plugin(args ...string) (string, error) {
	e.t.Helper()
	program, err := buildPlugin()
	require.NoError(e.t, err, "build the plugin")
	out, err := exec.CommandContext(e.t.Context(), program, append([]string{"--namespace", e.namespace}, args...)...).CombinedOutput()
	return string(out), err
}

// runs runs the plugin and compares what it prints.
func (e *env) runs(want string, args ...string) {
	e.t.Helper()
	out, err := e.plugin(args...)
	require.NoError(e.t, err, "kubectl kruise %s: %s", strings.Join(args, " "), out)
	assert.Equal(e.t, want, out, "kubectl kruise %s", strings.Join(args, " "))
}

// failing runs the plugin, which must fail, and compares the end of what it prints.
func (e *env) failing(want string, args ...string) {
	e.t.Helper()
	out, err := e.plugin(args...)
	require.Error(e.t, err, "kubectl kruise %s: %s", strings.Join(args, " "), out)
	assert.Equal(e.t, want, strings.TrimSpace(out), "kubectl kruise %s", strings.Join(args, " "))
}

// Cases kubectl-plugin 1, 2, 3, 4, 5, 6, 10, 12, 19, 20, 21, 22, 33: a rollout from its first to its last command.
func TestPluginRollsACloneSetOutAndBack(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"), "--server-side") // kubectl warns of a rollback if the other kind of apply has left its annotation.
	e.ready("web", 3)
	e.failing("error: no last revision to roll back to", "rollout", "undo", "clone/web")
	e.runs("cloneset.apps.kruise.io/web paused\n", "rollout", "pause", "clone/web")
	e.failing(`error: clonesets.apps.kruise.io "web" is already paused`, "rollout", "pause", "clone/web")
	e.runs("cloneset.apps.kruise.io/web image updated\n", "set", "image", "clone/web", "main=kruise.local/demo:v2")
	e.failing(`error: unable to find container named "none"`, "set", "image", "clone/web", "none=kruise.local/demo:v2")
	e.eventually("the new image is observed", func(c *require.Assertions, _ context.Context) {
		out, err := e.plugin("why", "clone/web")
		c.NoError(err, out)
		c.Equal("CloneSet web is paused with 0 of 3 Pods updated; run: kubectl kruise rollout resume clonesets.apps.kruise.io/web.\n", out)
	})
	e.runs("cloneset.apps.kruise.io/web resumed\n", "rollout", "resume", "clone/web")
	e.failing(`error: clonesets.apps.kruise.io "web" is not paused`, "rollout", "resume", "clone/web")
	out, err := e.plugin("rollout", "status", "clone/web", "--timeout=3m")
	require.NoError(t, err, out)
	assert.True(t, strings.HasSuffix(out, "\npartitioned roll out complete: 3 new pods have been updated...\n") ||
		out == "partitioned roll out complete: 3 new pods have been updated...\n", out)
	e.ready("web", 3)
	e.runs("CloneSet web is complete: 3 of 3 Pods are updated and available; there is nothing to do.\n", "why", "clone/web")
	e.runs("cloneset.apps.kruise.io/web \nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n\n", "rollout", "history", "clone/web")
	e.failing("error: unable to find the specified revision", "rollout", "history", "clone/web", "--revision=9")

	e.runs("cloneset.apps.kruise.io/web rolled back (server dry run)\n", "rollout", "undo", "clone/web", "--dry-run=server")
	e.runs("cloneset.apps.kruise.io/web rolled back\n", "rollout", "undo", "clone/web")
	assert.Equal(t, "kruise.local/demo:v1", e.cloneSet("web").Spec.Template.Spec.Containers[0].Image)
	out, err = e.plugin("rollout", "watch", "clone/web")
	require.NoError(t, err, out)
	assert.Contains(t, out, "partitioned roll out complete: 3 new pods have been updated...\n")
	e.runs("cloneset.apps.kruise.io/web skipped rollback (current template already matches revision 3)\n",
		"rollout", "undo", "clone/web", "--to-revision=3")
	e.runs("cloneset.apps.kruise.io/web env updated\n", "set", "env", "clone/web", "A=1")
	e.runs("# CloneSet web, container main\nA=1\n", "set", "env", "clone/web", "--list")
	e.runs("service/web exposed\n", "expose", "clone/web", "--port=80")
	e.runs("cloneset.apps.kruise.io/web scaled\n", "scale", "clone/web", "--replicas=2")
	e.ready("web", 2)
}

// Case kubectl-plugin 1a: the patch that other releases of the plugin send for an undo.
func TestMergePatchOfOtherPluginsIsAccepted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "replicas: 0"))
	e.ready("web", 0)
	revisions, err := e.core.AppsV1().ControllerRevisions(e.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	require.NoError(t, err)
	require.Len(t, revisions.Items, 1)
	assert.Contains(t, string(revisions.Items[0].Data.Raw), `"$patch":"replace"`)
	e.plugin("set", "image", "clone/web", "main=kruise.local/demo:v2") //nolint:errcheck // The image is checked below.
	assert.Equal(t, "kruise.local/demo:v2", e.cloneSet("web").Spec.Template.Spec.Containers[0].Image)
	e.kubectl("patch", "cloneset", "web", "--type=merge", "--patch", string(revisions.Items[0].Data.Raw))
	assert.Equal(t, "kruise.local/demo:v1", e.cloneSet("web").Spec.Template.Spec.Containers[0].Image)
}

// Cases kubectl-plugin 13, 28, 34, 35, 37: what belongs to a CloneSet, and Pods that are removed by name.
func TestPluginShowsAndRemovesPodsOfACloneSet(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	pods := e.pods("web")
	require.Len(t, pods, 3)
	tree, err := e.plugin("get", "tree", "clone/web")
	require.NoError(t, err, tree)
	assert.Contains(t, tree, "clonesets.apps.kruise.io/web  3/3 updated, 3/3 available\n└─controllerrevision/web-")
	assert.Equal(t, 3, strings.Count(tree, "pod/web-"))
	for _, args := range [][]string{{"describe", "clone/web"}, {"get", "all"}, {"logs", "clone/web"}} {
		out, err := e.plugin(args...)
		assert.NoError(t, err, "%v: %s", args, out)
	}
	out, err := e.plugin("exec", "clone/web", "--", "/demo", "--help")
	assert.NotContains(t, out, "cannot attach", "the Pod is found: %v", err)
	first, second := pods[0].Name, pods[1].Name
	e.runs("# web delete pods ["+first+" "+second+"] successfully\ncloneset.apps.kruise.io/web selective pod deletion\n",
		"scaledown", "cloneset/web", "--pods", first+","+second)
	e.ready("web", 1)
	assert.Equal(t, pods[2].Name, e.pods("web")[0].Name)
}

// Cases kubectl-plugin 15, 36: containers are restarted and images are pulled, with progress.
func TestPluginRestartsContainersAndPullsImages(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "replicas: 1"))
	e.ready("web", 1)
	pod := e.pods("web")[0].Name
	out, err := e.plugin("create", "ContainerRecreateRequest", "again", "--pod", pod, "--containers=main", "-u", "1", "-m", "1", "--wait")
	require.NoError(t, err, out)
	assert.True(t, strings.HasPrefix(out, "containerrecreaterequest.apps.kruise.io/again created\n"), out)
	assert.Contains(t, out, "Completed main=Succeeded")
	assert.EqualValues(t, 1, e.pods("web")[0].Status.ContainerStatuses[0].RestartCount)

	out, err = e.plugin("create", "ImagePullJob", "warm", "--image=kruise.local/demo:v1", "--nodes="+e.pods("web")[0].Spec.NodeName, "--wait")
	require.NoError(t, err, out)
	assert.Regexp(t, "^imagepulljob.apps.kruise.io/warm created\n(. of . nodes have the image, . pull, 0 failed\n)+$", out)
	assert.True(t, strings.HasSuffix(out, "\n1 of 1 nodes have the image, 0 pull, 0 failed\n"), out)
}

// Case kubectl-plugin 14: replicas move from a Deployment.
func TestPluginMigratesADeployment(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(strings.NewReplacer("apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet", "apiVersion: apps/v1\nkind: Deployment",
		"  updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1\n", "").Replace(manifest("old")))
	migrate := []string{"migrate", "CloneSet", "--from=Deployment", "--src-name=old", "--dst-name=new"}
	e.runs("Successfully created from Deployment/old to CloneSet/new\n", append(migrate, "--create")...)
	out, err := e.plugin(append(migrate, "--max-surge=2", "--timeout-seconds=180")...)
	require.NoError(t, err, out)
	assert.Equal(t, "Migration progress: Deployment/old scale in 2, CloneSet/new scale out 2\n"+
		"Migration progress: Deployment/old scale in 3, CloneSet/new scale out 3\n"+
		"Successfully migrated 3 replicas from Deployment/old to CloneSet/new\n", out)
	e.ready("new", 3)
	left, err := e.core.AppsV1().Deployments(e.namespace).Get(t.Context(), "old", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Zero(t, *left.Spec.Replicas)
}

// Case kubectl-plugin 30: the reason of a Pod that finds no node.
func TestPluginSaysWhyARolloutStandsStill(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("big", "cpu: 10m", "cpu: 999", "replicas: 3", "replicas: 1"))
	e.eventually("the reason is known", func(c *require.Assertions, _ context.Context) {
		out, err := e.plugin("why", "clone/big")
		c.NoError(err, out)
		c.Regexp("^CloneSet big waits for Pod big-[a-z0-9]+, which has no node: .*; change its requests, its node selection, its claims or the nodes.\n$", out)
	})
}
