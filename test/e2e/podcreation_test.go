//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// created returns the next Pods of an app in the state of their creation, before any client changed them.
func (e *env) created(app string, count int, change func()) (pods []*corev1.Pod) {
	e.t.Helper()
	list, err := e.core.CoreV1().Pods(e.namespace).List(e.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	require.NoError(e.t, err)
	events, err := e.core.CoreV1().Pods(e.namespace).Watch(e.t.Context(), metav1.ListOptions{
		LabelSelector: "app=" + app, ResourceVersion: list.ResourceVersion,
	})
	require.NoError(e.t, err)
	defer events.Stop()
	change()
	late := time.After(patience)
	for len(pods) < count {
		select {
		case event, open := <-events.ResultChan():
			require.True(e.t, open)
			if pod, ok := event.Object.(*corev1.Pod); ok && event.Type == watch.Added {
				pods = append(pods, pod)
			}
		case <-late:
			require.Failf(e.t, "Pods are missing", "%d of %d came", len(pods), count)
		}
	}
	return pods
}

// TestNewPodsHaveTheirBudget checks that new Pods name their budget before a controller has seen them. Pods of a
// CloneSet keep their readiness gate, and Pods of a Deployment get none.
func TestNewPodsHaveTheirBudget(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(strings.NewReplacer("apps.kruise.io/v1alpha1", "apps/v1", "CloneSet", "Deployment", "replicas: 3", "replicas: 1",
		"  updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1\n", "").Replace(manifest("core")))
	e.kubectl("rollout", "status", "deployment/core", "--timeout=3m")
	e.apply(manifest("ours", "replicas: 3", "replicas: 1"))
	e.ready("ours", 1)
	e.budget("apps/v1", "Deployment", "core", "maxUnavailable: 1", 1)
	e.budget("apps.kruise.io/v1alpha1", "CloneSet", "ours", "maxUnavailable: 1", 1)
	for kind, name := range map[string]string{"deployment": "core", "cloneset": "ours"} {
		pods := e.created(name, 4, func() { e.kubectl("scale", kind, name, "--replicas=5") })
		for _, pod := range pods {
			assert.Equal(t, name, pod.Annotations["kruise.io/related-pub"], pod.Name)
			assert.Equal(t, name, pod.Annotations["pub.kruise.io/related-pub"], pod.Name)
			gates := 0
			for _, gate := range pod.Spec.ReadinessGates {
				if gate.ConditionType == "KruisePodReady" {
					gates++
				}
			}
			assert.Equal(t, map[string]int{"deployment": 0, "cloneset": 1}[kind], gates, pod.Name)
		}
	}
	e.kubectl("rollout", "status", "deployment/core", "--timeout=3m")
	e.ready("ours", 5)
}
