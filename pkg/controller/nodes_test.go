package controller_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/nodefit"
)

// A change of a node reconciles the objects that it concerns. A heartbeat reconciles nothing.
func TestNodeReconcilesWhatItConcerns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := func(name string, labels map[string]string) *appsv1.Deployment {
			set := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
			set.Spec.Template.Spec.NodeSelector = labels
			return set
		}
		requires := func(set *appsv1.Deployment) *nodefit.Requirements {
			return nodefit.Require(&corev1.Pod{Spec: set.Spec.Template.Spec})
		}
		client := fake.NewClientset(on("all", nil), on("ssd", map[string]string{"disk": "ssd"}), on("hdd", map[string]string{"disk": "hdd"}))
		deps, caches := newDeps(client)
		sets, nodes := deps.KubeInformers.Apps().V1().Deployments(), deps.KubeInformers.Core().V1().Nodes()
		var seen, asked []string
		of := controller.For(deps, "test", sets, func(_ context.Context, set *appsv1.Deployment) (reconcile.Result, error) {
			seen = append(seen, set.Name)
			return reconcile.Result{}, nil
		})
		nodesFor := of.OnNodes(sets, nodes, requires, func(set *appsv1.Deployment, before, after *corev1.Node) bool {
			asked = append(asked, set.Name)
			selects := func(node *corev1.Node) bool { return node != nil && requires(set).Of(node).Selected }
			return selects(before) != selects(after)
		})
		c, err := of.Build()
		require.NoError(t, err)
		stop := run(t, caches, deps.Needs(), c)
		defer stop()
		<-time.After(time.Second)
		after := func(write func() error) (reconciled, compared []string) {
			synctest.Wait()
			seen, asked = nil, nil
			require.NoError(t, write())
			<-time.After(time.Second)
			synctest.Wait()
			return slices.Sorted(slices.Values(seen)), slices.Sorted(slices.Values(asked))
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"disk": "ssd"}}}
		update := func() error {
			_, err := client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
			return err
		}
		reconciled, compared := after(func() error {
			_, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
			return err
		})
		assert.Equal(t, []string{"all", "ssd"}, reconciled)
		assert.Equal(t, []string{"all", "ssd"}, compared, "the index leaves out the others")

		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		reconciled, compared = after(update)
		assert.Empty(t, reconciled)
		assert.Empty(t, compared, "a heartbeat is not compared with any object")

		node.UID = "again"
		_, compared = after(update)
		assert.Equal(t, []string{"all", "ssd"}, compared, "a node that was created again may look the same")

		node.Labels = map[string]string{"disk": "hdd"}
		reconciled, _ = after(update)
		assert.Equal(t, []string{"hdd", "ssd"}, reconciled)

		found, err := nodesFor(requires(on("hdd", map[string]string{"disk": "hdd"})))
		require.NoError(t, err)
		assert.Len(t, found, 1)
		found, err = nodesFor(requires(on("ssd", map[string]string{"disk": "ssd"})))
		require.NoError(t, err)
		assert.Empty(t, found)

		reconciled, _ = after(func() error { return client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}) })
		assert.Equal(t, []string{"all", "hdd"}, reconciled)
	})
}
