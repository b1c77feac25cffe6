package rolloutprogress

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// world is a registry with the metrics.
type world struct {
	*Metrics
	registry metrics.KubeRegistry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{NewMetrics(), metrics.NewKubeRegistry()}
	require.NoError(t, w.Register(w.registry.Register))
	return w
}

// series returns all series, as "name{label values} value".
func (w *world) series(t *testing.T) (all []string) {
	t.Helper()
	families, err := w.registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var values []string
			for _, label := range metric.GetLabel() {
				values = append(values, label.GetValue())
			}
			all = append(all, fmt.Sprintf("%s{%s} %v", family.GetName(), strings.Join(values, ","), metric.GetGauge().GetValue()))
		}
	}
	return all
}

// cloneSet returns a CloneSet with three wanted Pods.
func cloneSet(name string, updated, available int32) *v1beta1.CloneSet {
	set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 2}}
	set.Spec.Replicas = new(int32(3))
	set.Status = v1beta1.CloneSetStatus{ObservedGeneration: 2, UpdatedReplicas: updated, UpdatedAvailableReplicas: available}
	return set
}

// Case metrics 15.
func TestSeriesOfARollout(t *testing.T) {
	w := newWorld(t)
	w.Observe(cloneSet("web", 2, 1))
	assert.ElementsMatch(t, []string{
		"kruise_rollout_target_pods{CloneSet,web,shop} 3", "kruise_rollout_updated_pods{CloneSet,web,shop} 2",
		"kruise_rollout_available_pods{CloneSet,web,shop} 1", "kruise_rollout_paused{CloneSet,web,shop} 0",
		"kruise_rollouts{CloneSet,progressing} 1",
	}, w.series(t))

	stuck := cloneSet("web", 2, 1)
	stuck.Status.Conditions = []v1beta1.CloneSetCondition{{Type: v1beta1.CloneSetConditionProgressing, Status: corev1.ConditionFalse}}
	w.Observe(stuck)
	assert.Contains(t, w.series(t), "kruise_rollouts{CloneSet,deadline_exceeded} 1")
	assert.Contains(t, w.series(t), "kruise_rollouts{CloneSet,progressing} 0")

	halted := cloneSet("web", 2, 1)
	halted.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{Paused: true}
	w.Observe(halted)
	assert.Contains(t, w.series(t), "kruise_rollouts{CloneSet,paused} 1")
	assert.Contains(t, w.series(t), "kruise_rollout_paused{CloneSet,web,shop} 1")

	w.Observe(cloneSet("web", 3, 3))
	assert.ElementsMatch(t, []string{
		"kruise_rollouts{CloneSet,deadline_exceeded} 0", "kruise_rollouts{CloneSet,paused} 0", "kruise_rollouts{CloneSet,progressing} 0",
	}, w.series(t), "a rollout that is complete has no series")
}

func TestDeletedWorkloadsHaveNoSeries(t *testing.T) {
	w := newWorld(t)
	w.Observe(cloneSet("web", 0, 0))
	w.Forget(cloneSet("web", 0, 0))
	terminating := cloneSet("cache", 0, 0)
	w.Observe(terminating)
	terminating = terminating.DeepCopy()
	terminating.DeletionTimestamp = new(metav1.Now())
	w.Observe(terminating)
	assert.Equal(t, []string{"kruise_rollouts{CloneSet,progressing} 0"}, w.series(t))
}

func TestKindsWithoutRolloutsAreIgnored(t *testing.T) {
	w := newWorld(t)
	w.Observe(&corev1.Node{})
	w.Observe(&appsv1.Deployment{})
	w.Forget(&corev1.Node{})
	assert.Empty(t, w.series(t))
	var none *Metrics
	none.Observe(cloneSet("web", 0, 0))
	none.Forget(cloneSet("web", 0, 0))
}

// Case metrics 15.
// A cluster in which everything rolls out must not fill the memory of Prometheus. What ends makes room.
func TestSeriesOfRolloutsAreLimited(t *testing.T) {
	w := newWorld(t)
	for i := range 2 * mostShown {
		w.Observe(cloneSet(fmt.Sprint("web-", i), 0, 0))
	}
	const perRollout = 4
	require.Len(t, w.series(t), perRollout*mostShown+1)
	assert.Contains(t, w.series(t), fmt.Sprintf("kruise_rollouts{CloneSet,progressing} %d", 2*mostShown), "all are counted")
	late := fmt.Sprint("web-", 2*mostShown-1)
	w.Observe(cloneSet("web-0", 3, 3))
	w.Observe(cloneSet(late, 1, 0))
	assert.Contains(t, w.series(t), "kruise_rollout_updated_pods{CloneSet,"+late+",shop} 1")
	assert.Len(t, w.series(t), perRollout*mostShown+1)
}
