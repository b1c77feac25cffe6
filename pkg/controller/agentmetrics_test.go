package controller

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/reconcile"
)

// Two controllers look for agents. Each agent is counted once, and one that is gone is not counted.
func TestAgentsAreCountedByReadiness(t *testing.T) {
	agent := func(name string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name, Labels: map[string]string{agentLabel: agentComponent}},
			Spec:       corev1.PodSpec{NodeName: "node-of-" + name},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: ready},
			}},
		}
	}
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(agent("a", corev1.ConditionTrue), agent("b", corev1.ConditionFalse), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		})
		caches := NewCaches(kube, kruisefake.NewClientset(), "", 0)
		counts := NewAgentMetrics()
		require.NoError(t, counts.Register(metrics.NewKubeRegistry().Register))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer caches.Wait()
		defer running.Wait()
		defer cancel()
		for _, name := range []string{"first", "second"} {
			deps := caches.For(Deps{AgentMetrics: counts})
			c := For(deps, name, deps.KruiseInformers.Apps().V1beta1().NodeImages(),
				func(context.Context, *v1beta1.NodeImage) (reconcile.Result, error) { return reconcile.Result{}, nil })
			c.Agents(deps.KubeInformers.Core().V1().Pods(), deps.KubeInformers.Core().V1().Nodes(), "system", nil)
			controller, err := c.Build()
			require.NoError(t, err)
			caches.Start(ctx, deps.Needs())
			running.Go(func() { controller.Run(ctx) })
		}
		expect := func(ready, notReady float64) {
			t.Helper()
			<-time.After(time.Second)
			synctest.Wait()
			for state, want := range map[string]float64{"ready": ready, "not_ready": notReady} {
				value, err := testutil.GetGaugeMetricValue(counts.pods.WithLabelValues(state))
				require.NoError(t, err)
				assert.InDelta(t, want, value, 0, state)
			}
		}
		expect(1, 1)
		pods := kube.CoreV1().Pods("system")
		_, err := pods.UpdateStatus(t.Context(), agent("b", corev1.ConditionTrue), metav1.UpdateOptions{})
		require.NoError(t, err)
		expect(2, 0)
		require.NoError(t, pods.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		expect(1, 0)
	})
}
