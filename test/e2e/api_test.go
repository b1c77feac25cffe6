//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestVersions checks that each API version reads what the other wrote.
func TestVersions(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("alpha"))
	beta := e.kubectl("get", "clonesets.v1beta1.apps.kruise.io", "alpha", "-o",
		"jsonpath={.apiVersion} {.spec.updateStrategy.type} {.spec.updateStrategy.rollingUpdate.podUpdatePolicy} "+
			"{.spec.updateStrategy.rollingUpdate.maxUnavailable} {.spec.scaleStrategy.enablePVCReuse}")
	assert.Equal(t, "apps.kruise.io/v1beta1 RollingUpdate InPlaceIfPossible 1 true", beta)

	e.apply(manifest("beta", "v1alpha1", "v1beta1", "  updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1\n",
		"  updateStrategy:\n    rollingUpdate: {podUpdatePolicy: InPlaceOnly, maxUnavailable: 30%, partition: 1}\n"))
	alpha := e.kubectl("get", "clonesets.v1alpha1.apps.kruise.io", "beta", "-o",
		"jsonpath={.apiVersion} {.spec.updateStrategy.type} {.spec.updateStrategy.maxUnavailable} {.spec.updateStrategy.partition} "+
			"{.spec.scaleStrategy.disablePVCReuse}")
	assert.Equal(t, "apps.kruise.io/v1alpha1 InPlaceOnly 30% 1 true", alpha)
}

// TestGoClient builds and runs the example program. The program is a module of its own that imports only the types and the
// clients.
func TestGoClient(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const module = "../../artifacts/examples/client-go"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./...")
	list.Dir = module
	deps, err := list.Output()
	require.NoError(t, err)
	assert.Contains(t, string(deps), "kruise.io/kruise/pkg/generated/clientset/versioned")
	for dep := range strings.Lines(string(deps)) {
		assert.False(t, strings.HasPrefix(dep, "k8s.io/kubernetes") || strings.HasPrefix(dep, "k8s.io/apiserver"), dep)
	}
	run := exec.CommandContext(t.Context(), "go", "run", ".", "--namespace", e.namespace)
	run.Dir = module
	run.Env = os.Environ()
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, step := range []string{"created", "listed", "watched", "applied", "deleted"} {
		assert.Contains(t, string(out), step)
	}
}

// TestBadInput checks that each mistake is rejected with the field's path, the value and the reason, and that nothing is stored.
func TestBadInput(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for name, test := range map[string]struct {
		manifest string
		want     []string
	}{
		"unknown field": {
			manifest("bad", "  replicas: 3", "  replicas: 3\n  replica: 4"), []string{`unknown field "spec.replica"`},
		},
		"selector that does not match": {
			manifest("bad", "      labels:\n        app: NAME", "      labels:\n        app: other"),
			[]string{"spec.template.metadata.labels", `"app":"other"`, "selector"},
		},
		"negative replicas": {
			manifest("bad", "replicas: 3", "replicas: -3"), []string{"spec.replicas", "-3", "greater than or equal to 0"},
		},
		"maxUnavailable of abc": {
			manifest("bad", "maxUnavailable: 1", "maxUnavailable: abc"), []string{"spec.updateStrategy", "maxUnavailable", `"abc"`, "%"},
		},
		"invalid container name": {
			manifest("bad", "name: main", "name: Main_1"), []string{"spec.template.spec.containers[0].name", `"Main_1"`, "RFC 1123"},
		},
		"two mistakes at once": {
			manifest("bad", "replicas: 3", "replicas: -3", "name: main", "name: Main_1"),
			[]string{"spec.replicas", "spec.template.spec.containers[0].name"},
		},
		"empty selector": {
			manifest("bad", "    matchLabels:\n      app: NAME", "    matchLabels: {}"), []string{"spec.selector", "empty"},
		},
		"restart policy": {
			manifest("bad", "    spec:\n      terminationGracePeriodSeconds: 5", "    spec:\n      restartPolicy: Never"),
			[]string{"spec.template.spec.restartPolicy", `"Never"`, "Always"},
		},
		"too large": {
			manifest("bad", "  name: NAME", "  name: NAME\n  annotations: {big: "+strings.Repeat("x", 200_000)+"}",
				"        imagePullPolicy: IfNotPresent", "        env: [{name: BIG, value: "+strings.Repeat("y", 2<<20)+"}]"),
			[]string{"TooLarge", "bytes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := e.refused(test.manifest, "create", "-f", "-")
			for _, want := range test.want {
				assert.Contains(t, out[:min(len(out), 2000)], want)
			}
			_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(t.Context(), "bad", metav1.GetOptions{})
			assert.True(t, apierrors.IsNotFound(err), "nothing may be stored: %v", err)
		})
	}
}

// TestImmutableSelector checks that the rejection names the field and that the stored object does not change.
// Case cloneset 3.
func TestImmutableSelector(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "replicas: 0"))
	out := e.refused("", "patch", "cloneset", "web", "--type=merge", "-p",
		`{"spec":{"selector":{"matchLabels":{"app":"web","tier":"x"}},"template":{"metadata":{"labels":{"tier":"x"}}}}}`)
	assert.Contains(t, out, "spec.selector")
	assert.Contains(t, out, "cannot be changed")
	assert.Equal(t, map[string]string{"app": "web"}, e.cloneSet("web").Spec.Selector.MatchLabels)
}

// TestPolicyOfAUserTakesParameters checks that a ValidatingAdmissionPolicy can limit a Kruise kind by a ConfigMap. The apiserver
// evaluates the policy, so a ClusterRole with the label must allow it to read the ConfigMaps.
// Case pod-admission 15.
func TestPolicyOfAUserTakesParameters(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	name := "limit-" + e.namespace
	t.Cleanup(func() {
		for _, kind := range []string{"validatingadmissionpolicybinding", "validatingadmissionpolicy", "clusterrole"} {
			_ = e.command(context.WithoutCancel(t.Context()), "delete", kind, name, "--ignore-not-found").Run()
		}
	})
	e.apply(strings.NewReplacer("NAMESPACE", e.namespace, "NAME", name).Replace(`
apiVersion: v1
kind: ConfigMap
metadata: {name: limit}
data: {replicas: "2"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: NAME
  labels: {kruise.io/aggregate-to-policy-parameters: "true"}
rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules:
      - {apiGroups: [apps.kruise.io], apiVersions: ["*"], operations: [CREATE], resources: [clonesets]}
  validations:
    - {expression: "object.spec.replicas <= int(params.data.replicas)", message: "more replicas than the limit"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec:
  policyName: NAME
  paramRef: {name: limit, parameterNotFoundAction: Deny}
  validationActions: [Deny]
`))
	e.eventually("the policy refuses by its parameter", func(c *require.Assertions, ctx context.Context) {
		command := e.command(ctx, "create", "--dry-run=server", "-f", "-")
		command.Stdin = strings.NewReader(manifest("many"))
		out, err := command.CombinedOutput()
		c.Error(err)
		c.Contains(string(out), "more replicas than the limit")
	})
	e.apply(manifest("few", "replicas: 3", "replicas: 2"))
}
