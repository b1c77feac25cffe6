//go:build e2e

package e2e

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named replaces what an object of one kind is called by OBJECT.
func named(out string, resources ...string) string {
	for _, resource := range resources {
		singular, group, _ := strings.Cut(resource, ".")
		singular = strings.TrimSuffix(singular, "s")
		out = strings.NewReplacer(singular+"."+group, "OBJECT", singular+"s."+group, "OBJECTS", singular+"s/", "OBJECTS/", singular+"/", "OBJECT/").Replace(out)
	}
	return out
}

// The plugin prints about a CloneSet what kubectl prints about a workload of Kubernetes, and about the latter it prints the same.
// Cases kubectl-plugin 3, 5, 6, 10, 12, 20, 40, 42: messages and errors are those of kubectl.
func TestPluginPrintsWhatKubectlPrints(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "replicas: 0"), "--server-side") // A rollback of what kubectl applied prints a warning.
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		e.apply(strings.NewReplacer("apps.kruise.io/v1alpha1", "apps/v1", "CloneSet", kind,
			"  updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1\n", "").Replace(manifest("web", "replicas: 3", "replicas: 0")), "--server-side")
	}
	e.ready("web", 0)
	e.kubectl("rollout", "status", "statefulset/web")
	e.kubectl("rollout", "status", "deployment/web")
	g := e.guide()
	prints := func(program, command, object string) string {
		t.Helper()
		out, err := g.run(t.Context(), program+" "+strings.ReplaceAll(command, "OBJECT", object))
		return sprintf("%sexit: %v", strings.ReplaceAll(out, "kubectl kruise ", "kubectl "), err)
	}
	for _, c := range []struct{ native, command string }{
		{"deployment", "rollout pause OBJECT"},
		{"deployment", "rollout pause OBJECT"},
		{"deployment", "rollout resume OBJECT"},
		{"deployment", "rollout resume OBJECT"},
		{"statefulset", "rollout undo OBJECT"},
		{"statefulset", "rollout history OBJECT"},
		{"statefulset", "rollout history OBJECT --revision=9"},
		{"deployment", "set image OBJECT none=i:1"},
		{"deployment", "set image OBJECT"},
		{"deployment", "set image OBJECT main=kruise.local/demo:v2 --dry-run=client"},
		{"deployment", "set image OBJECT main=kruise.local/demo:v2 --dry-run=server"},
		{"deployment", "set env OBJECT A=1"},
		{"deployment", "set env OBJECT A=1 -o name"},
		{"deployment", "set env OBJECT A-"},
		{"deployment", "set resources OBJECT"},
		{"deployment", "set resources OBJECT --limits=cpu=x"},
		{"deployment", "set serviceaccount OBJECT robot"},
		{"deployment", "set serviceaccount OBJECT"},
		{"deployment", "set selector OBJECT a=b"},
		{"deployment", "scale OBJECT"},
		{"deployment", "scale OBJECT --replicas=0"},
		{"deployment", "scale OBJECT --replicas=0 --current-replicas=7"},
		{"deployment", "autoscale OBJECT"},
		{"deployment", "expose OBJECT --port=80 --dry-run=client"},
		{"statefulset", "rollout status OBJECT --watch=maybe"},
		{"statefulset", "rollout restart"},
		{"statefulset", "rollout undo OBJECT --unknown"},
		{"statefulset", "rollout none OBJECT"},
		{"statefulset", "wait OBJECT --for=jsonpath={.spec.replicas}=1 --timeout=1s"},
		{"statefulset", "patch OBJECT --type=merge --patch=x"},
	} {
		core, ours := c.native+"/web", "cloneset/web"
		want := named(prints("kubectl", c.command, core), c.native+"s.apps")
		assert.Equal(t, want, named(prints("kubectl-kruise", c.command, ours), "clonesets.apps.kruise.io"), c.command)
	}
	for _, command := range []string{
		"rollout status deployment/web", "rollout history deployment/web", "rollout undo deployment/web --to-revision=9",
		"set env deployment/web --list", "get deployment/web -o name", "rollout restart job/none",
	} {
		assert.Equal(t, prints("kubectl", command, ""), prints("kubectl-kruise", command, ""), command)
	}
}

// flags returns the lines of a help that describe flags.
func flags(help string) string {
	_, below, _ := strings.Cut(help, "\nOptions:\n")
	of, _, _ := strings.Cut(below, "\nUsage:\n")
	return of
}

// Cases kubectl-plugin 26, 27, 39, 42: kubectl runs the plugin, shows its help and completes its arguments.
func TestKubectlRunsThePlugin(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "replicas: 0"))
	s := e.session()
	run := func(command string) string {
		t.Helper()
		out, err := s.run(t.Context(), command)
		require.NoError(t, err, "%s: %s", command, out)
		return out
	}
	help, err := os.ReadFile("../../pkg/kubectl/testdata/help.txt")
	require.NoError(t, err)
	assert.Equal(t, string(help), run("kubectl kruise"))
	s.types(`
why --help
rollout watch --help
rollout list --help
rollout approve --help
rollout status --help
scaledown --help
migrate --help
takeover --help
get all --help
get tree --help
describe rollout --help
create --help
create ContainerRecreateRequest --help
create ImagePullJob --help
create broadcastJob --help
create job --help
exec --help
delete clone/web
edit clone/web
rollout none
generate-docs --directory=/dev/null/x`)
	s.shows("help.txt")

	for command, want := range map[string]string{
		"kubectl __complete kruise rollout undo clonesets.apps.kruise.io/": "clonesets.apps.kruise.io/web",
		"kubectl __complete kruise why cloneset ''":                        "web",
		"kubectl __complete kruise rollout ''":                             "approve\tApprove the step of a Rollout",
		"kubectl kruise __complete scaledown clonesets ''":                 "web",
	} {
		assert.Contains(t, strings.Split(run(command), "\n"), want, command)
	}
	dir := t.TempDir()
	assert.Regexp(t, `^\d+ pages are in `+regexp.QuoteMeta(dir)+"\n$", run("kubectl kruise generate-docs --directory="+dir))
	assert.FileExists(t, filepath.Join(dir, "kubectl_kruise_why.md"))

	// Other versions of kubectl have other flags than the library of the plugin.
	if !strings.Contains(run("kubectl version --client"), "Client Version: v1"+libraryMinor(t)+".") {
		return
	}
	for _, command := range []string{
		"rollout pause", "rollout restart", "set image", "set env", "scale", "expose", "logs", "get", "describe", "apply", "wait",
	} {
		want := flags(run("kubectl " + command + " --help"))
		assert.NotEmpty(t, want, command)
		assert.Equal(t, want, flags(run("kubectl-kruise "+command+" --help")), command)
	}
	// This command has one more.
	for flag := range strings.SplitSeq(flags(run("kubectl rollout undo --help")), "\n\n") {
		assert.Contains(t, flags(run("kubectl-kruise rollout undo --help")), flag)
	}
}

// libraryMinor returns the minor version of the library of kubectl in the plugin, for example ".36".
func libraryMinor(t *testing.T) string {
	t.Helper()
	program, err := buildPlugin()
	require.NoError(t, err)
	info, err := buildinfo.ReadFile(program)
	require.NoError(t, err)
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubectl" {
			return strings.TrimPrefix(module.Version[:strings.LastIndex(module.Version, ".")], "v0")
		}
	}
	require.Fail(t, "the plugin has no library of kubectl")
	return ""
}
