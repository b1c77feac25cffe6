package controller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/rolloutprogress"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/reconcile"
)

// Every controller shows the rollouts of the objects that it reconciles, and forgets the deleted ones.
func TestRolloutsOfReconciledObjectsAreShown(t *testing.T) {
	registry, rollouts := metrics.NewKubeRegistry(), rolloutprogress.NewMetrics()
	require.NoError(t, rollouts.Register(registry.Register))
	deps := NewCaches(fake.NewClientset(), kruisefake.NewClientset(), "", 0).For(Deps{Rollouts: rollouts})
	sets := deps.KruiseInformers.Apps().V1beta1().CloneSets()
	c := For(deps, "test", sets, func(context.Context, *v1beta1.CloneSet) (reconcile.Result, error) { return reconcile.Result{}, nil })
	queue, err := c.Build()
	require.NoError(t, err)
	set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Generation: 1}}
	require.NoError(t, sets.Informer().GetIndexer().Add(set))
	shown := func() bool {
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() == "kruise_rollout_target_pods" {
				return true
			}
		}
		return false
	}
	require.False(t, shown())
	_, err = queue.Reconcile(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"})
	require.NoError(t, err)
	assert.True(t, shown())
	c.gone(set, nil)
	assert.False(t, shown())
}
