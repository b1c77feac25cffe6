//go:build e2e

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/containerreport"
)

// reported waits until the node agent reports the running instance of each container.
func (e *env) reported(app string) {
	e.t.Helper()
	e.eventually("the agents report", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods(app) {
			report, err := containerreport.Read(&pod)
			c.NoError(err)
			for _, status := range pod.Status.ContainerStatuses {
				entry := report.Find(status.Name)
				c.NotNil(entry, "%s/%s", pod.Name, status.Name)
				c.Equal(status.ContainerID, entry.ContainerID)
				c.Equal(status.RestartCount, entry.RestartCount)
				c.NotZero(entry.Hashes.PlainHash)
				c.NotZero(entry.Hashes.ExtractedEnvFromMetadataHash)
			}
		}
	})
}

// TestContainerReport checks the agents' reports on Pods of CloneSets, before and after a restart, and that they do not report
// on other Pods.
// Case node-agent 10.
func TestContainerReport(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.kubectl("run", "stranger", "--image=kruise.local/demo:v1", "--labels=app=stranger", "--image-pull-policy=IfNotPresent")
	e.ready("web", 3)
	e.reported("web")
	e.apply(manifest("web", "demo:v1", "demo:v2"))
	e.ready("web", 3)
	e.reported("web")
	for _, pod := range e.pods("stranger") {
		assert.NotContains(t, pod.Annotations, "apps.kruise.io/runtime-containers-meta")
	}
}

// TestNodeAgentScope checks that an agent can only write its annotation on Pods of its own node, whatever its access rules
// allow.
func TestNodeAgentScope(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "replicas: 3", "replicas: 1"))
	e.ready("web", 1)
	e.reported("web")
	pod := e.pods("web")[0]
	agentOf := func(node string) kubernetes.Interface {
		config := rest.CopyConfig(e.config)
		config.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:kruise-system:kruise-daemon",
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:kruise-system", "system:authenticated"},
		}
		if node != "" {
			config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
		}
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		return client
	}
	const report = `{"metadata":{"annotations":{"apps.kruise.io/runtime-containers-meta":"{\"containers\":[]}"}}}`
	for name, tc := range map[string]struct {
		node, patch string
		subresource []string
		want        string
	}{
		"its own Pod's report":        {pod.Spec.NodeName, report, []string{"status"}, ""},
		"another node's Pod":          {"elsewhere", report, []string{"status"}, "the node agent of node 'elsewhere' cannot write to a Pod of node '" + pod.Spec.NodeName},
		"a token without a node":      {"", report, []string{"status"}, "the node agent of node '' cannot write"},
		"a label":                     {pod.Spec.NodeName, `{"metadata":{"labels":{"app":"other"}}}`, []string{"status"}, "can change only the annotation"},
		"another annotation":          {pod.Spec.NodeName, `{"metadata":{"annotations":{"a":"b"}}}`, []string{"status"}, "can change only the annotation"},
		"another annotation taken":    {pod.Spec.NodeName, `{"metadata":{"annotations":{"lifecycle.apps.kruise.io/timestamp":null}}}`, []string{"status"}, "can change only the annotation"},
		"a condition":                 {pod.Spec.NodeName, `{"status":{"conditions":[{"type":"Mine","status":"True"}]}}`, []string{"status"}, "can change only the annotation"},
		"the spec, by another access": {pod.Spec.NodeName, `{"spec":{"containers":[{"name":"main","image":"kruise.local/demo:v2"}]}}`, nil, "cannot patch resource"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := agentOf(tc.node).CoreV1().Pods(e.namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, []byte(tc.patch),
				metav1.PatchOptions{}, tc.subresource...)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, tc.want)
		})
	}
	assert.Equal(t, corev1.PodRunning, e.pods("web")[0].Status.Phase)
}
