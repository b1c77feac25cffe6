//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestKubectl checks that each kubectl command for a Deployment does the same for a CloneSet.
func TestKubectl(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*testing.T, *env){
		"get by short name":      getByShortName,
		"get wide":               getWide,
		"explain":                explain,
		"diff":                   diff,
		"patch strategic":        patchStrategic,
		"wait for jsonpath":      waitForJSONPath,
		"apply server-side":      applyServerSide,
		"edit":                   edit,
		"get watch and scale":    watchAndScale,
		"delete cascade orphans": deleteOrphan,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub := newEnv(t)
			sub.apply(manifest("web"))
			sub.ready("web", 3)
			run(t, sub)
		})
	}
}

func getByShortName(t *testing.T, e *env) {
	lines := strings.Split(strings.TrimSpace(e.kubectl("get", "clone")), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, []string{"NAME", "DESIRED", "UPDATED", "UPDATED_READY", "UPDATED_AVAILABLE", "READY", "TOTAL", "AGE"},
		strings.Fields(lines[0]))
	assert.Equal(t, []string{"web", "3", "3", "3", "3", "3", "3"}, strings.Fields(lines[1])[:7])
}

func getWide(t *testing.T, e *env) {
	lines := strings.Split(strings.TrimSpace(e.kubectl("get", "cloneset", "-o", "wide")), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, []string{"CONTAINERS", "IMAGES", "SELECTOR"}, strings.Fields(lines[0])[8:])
	assert.Equal(t, []string{"main", "kruise.local/demo:v1", "app=web"}, strings.Fields(lines[1])[8:])
}

func explain(t *testing.T, e *env) {
	out := e.kubectl("explain", "cloneset.spec.updateStrategy", "--recursive")
	for _, field := range []string{"rollingUpdate", "partition", "maxUnavailable", "maxSurge", "inPlaceUpdateStrategy", "gracePeriodSeconds"} {
		assert.Contains(t, out, field)
	}
	alpha := e.kubectl("explain", "cloneset.spec.updateStrategy.maxUnavailable", "--api-version=apps.kruise.io/v1alpha1")
	assert.Contains(t, alpha, "DESCRIPTION")
	assert.NotContains(t, alpha, "<empty>")
}

func diff(t *testing.T, e *env) {
	out := e.refused(manifest("web", "demo:v1", "demo:v2"), "diff", "-f", "-")
	assert.Contains(t, out, "-      - image: kruise.local/demo:v1")
	assert.Contains(t, out, "+      - image: kruise.local/demo:v2")
	e.eventually("no difference, also in the status", func(c *require.Assertions, ctx context.Context) {
		command := e.command(ctx, "diff", "-f", "-")
		command.Stdin = strings.NewReader(manifest("web"))
		same, err := command.CombinedOutput()
		c.NoError(err, "no difference means exit 0: %s", same)
	})
}

// patchStrategic changes one container by its name and leaves the other container unchanged.
func patchStrategic(t *testing.T, e *env) {
	e.apply(manifest("two", "replicas: 3", "replicas: 0",
		"      - name: main", "      - name: side\n        image: kruise.local/demo:v1\n        imagePullPolicy: IfNotPresent\n      - name: main"))
	e.kubectl("patch", "cloneset", "two", "--type=strategic", "-p",
		`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"kruise.local/demo:v2"}]}}}}`)
	containers := e.cloneSet("two").Spec.Template.Spec.Containers
	require.Len(t, containers, 2)
	images := map[string]string{}
	for _, c := range containers {
		images[c.Name] = c.Image
	}
	assert.Equal(t, map[string]string{"side": "kruise.local/demo:v1", "main": "kruise.local/demo:v2"}, images)
}

func waitForJSONPath(t *testing.T, e *env) {
	e.kubectl("scale", "cloneset", "web", "--replicas=4")
	e.kubectl("wait", "cloneset/web", "--for=jsonpath={.status.readyReplicas}=4", "--timeout=3m")
	assert.EqualValues(t, 4, e.cloneSet("web").Status.ReadyReplicas)
}

func applyServerSide(t *testing.T, e *env) {
	e.apply(manifest("ssa"), "--server-side", "--field-manager=alice")
	conflict := e.refused(manifest("ssa", "demo:v1", "demo:v2"), "apply", "-f", "-", "--server-side", "--field-manager=bob")
	assert.Contains(t, conflict, `conflict with "alice"`)
	assert.Contains(t, conflict, `.spec.template.spec.containers[name="main"].image`)
	e.apply(manifest("ssa", "demo:v1", "demo:v2"), "--server-side", "--field-manager=bob", "--force-conflicts")
	assert.Equal(t, "kruise.local/demo:v2", e.cloneSet("ssa").Spec.Template.Spec.Containers[0].Image)
}

func edit(t *testing.T, e *env) {
	editor := filepath.Join(t.TempDir(), "editor")
	require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/replicas: 3$/replicas: 2/' \"$1\"\n"), 0o755))
	command := e.command(t.Context(), "edit", "cloneset", "web")
	command.Env = append(os.Environ(), "KUBE_EDITOR="+editor)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "edited")
	e.ready("web", 2)
}

// watchAndScale checks that a running watch shows a scale.
func watchAndScale(t *testing.T, e *env) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command := e.command(ctx, "get", "cloneset", "web", "-w", "--no-headers")
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(output)
	require.True(t, lines.Scan(), "the watch prints the object as it is")
	e.kubectl("scale", "cloneset", "web", "--replicas=5")
	reached := false
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 6 && fields[1] == "5" && fields[5] == "5" {
			reached = true
			break
		}
	}
	cancel()
	_ = command.Wait()
	assert.True(t, reached, "the watch ended before it showed 5 of 5 ready")
}

func deleteOrphan(t *testing.T, e *env) {
	e.kubectl("delete", "cloneset", "web", "--cascade=orphan", "--wait")
	_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	require.Error(t, err)
	e.eventually("owner references go, Pods stay", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("web")
		c.Len(pods, 3)
		for _, pod := range pods {
			c.Empty(pod.OwnerReferences, pod.Name)
		}
	})
}
