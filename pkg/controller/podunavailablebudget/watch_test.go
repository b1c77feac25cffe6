package podunavailablebudget

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func keys(names ...string) (keys []types.NamespacedName) {
	for _, name := range names {
		keys = append(keys, types.NamespacedName{Namespace: "ns", Name: name})
	}
	return keys
}

func TestEventsReachTheirBudgets(t *testing.T) {
	w := base(t)
	w.Add(newBudget(selecting("app", "web"), called("s")))
	w.Observe()
	w.reconcile()
	w.Observe()
	pod := w.pod("p-0")
	assert.Equal(t, keys("b"), w.r.governingPod(pod))
	pod.Annotations = map[string]string{"kruise.io/related-pub": "old"}
	assert.Equal(t, keys("b", "old"), w.r.governingPod(pod))
	pod.OwnerReferences, pod.Annotations = nil, nil
	assert.Equal(t, keys("s"), w.r.governingPod(pod))

	assert.Equal(t, keys("b"), w.r.governingWorkload(newCloneSet(3)))
	deployment := &appsv1.Deployment{ObjectMeta: metaOf("Deployment", "d")}
	assert.Empty(t, w.r.governingWorkload(deployment))
	deployment.Spec.Template.Labels = map[string]string{"app": "web"}
	assert.Equal(t, keys("s"), w.r.governingWorkload(deployment))

	assert.Contains(t, w.r.rivals(w.budget("b")), keys("s")[0], "what a new budget takes, another one loses")
	assert.Contains(t, w.r.rivals(w.budget("s")), keys("b")[0])
	assert.Equal(t, keys(""), itsNamespace(w.budget("b")))
	assert.Equal(t, keys(""), namespaceItself(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}))
}

func TestChangesThatCauseARecount(t *testing.T) {
	w := base(t)
	tests := map[string]struct {
		edit  func(*corev1.Pod)
		worth bool
	}{
		"nothing":       {func(*corev1.Pod) {}, false},
		"a heartbeat":   {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, false},
		"not ready":     {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		"goes":          {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"another label": {func(p *corev1.Pod) { p.Labels = nil }, true},
		"unhinted":      {func(p *corev1.Pod) { p.Annotations = nil }, true},
		"orphaned":      {func(p *corev1.Pod) { p.OwnerReferences = nil }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			after := w.pod("p-0").DeepCopy()
			test.edit(after)
			assert.Equal(t, test.worth, worthACount(w.pod("p-0"), after))
		})
	}
	assert.True(t, resized(newCloneSet(1), newCloneSet(2)))
	assert.False(t, resized(newCloneSet(1), newCloneSet(1)))
}

// A Deployment that is created again adopts the ReplicaSet that was left. Its Pods do not change then, so only the ReplicaSet can cause
// the count.
func TestAdoptedReplicaSetCausesACount(t *testing.T) {
	w := newWorld(t, newBudget(target("apps/v1", "Deployment", "d")), newBudget(selecting("app", "web"), called("s")))
	w.Observe()
	adopted, orphan := newReplicaSet("d-1", "d", 3), newReplicaSet("d-1", "d", 3)
	orphan.OwnerReferences = nil
	for _, set := range []*appsv1.ReplicaSet{adopted, orphan} {
		set.Spec.Template.Labels = map[string]string{"app": "web"}
	}
	assert.True(t, resized(orphan, adopted))
	assert.True(t, resized(adopted, orphan))
	assert.Equal(t, keys("b"), w.r.governingWorkload(adopted))
	assert.Equal(t, keys("s"), w.r.governingWorkload(orphan))
}

// The Pods of a Deployment name its ReplicaSets, and these the Deployment. No budget reaches them from above the Deployment.
func TestControllerOfADeploymentIsIgnored(t *testing.T) {
	w := newWorld(t, newBudget(target("apps.kruise.io/v1beta1", "UnitedDeployment", "u"), called("a")),
		newBudget(target("apps/v1", "Deployment", "d")))
	w.Observe()
	above := owner("apps.kruise.io/v1beta1", "UnitedDeployment", "u")
	assert.Equal(t, keys("b"), w.r.governingWorkload(&appsv1.Deployment{ObjectMeta: metaOf("Deployment", "d", above)}))
}

func TestNew(t *testing.T) {
	w := newWorld(t)
	fresh := newFresh(t)
	c, err := New(fresh, Options{})
	require.NoError(t, err)
	assert.Equal(t, Name, c.Name())
	assert.NotNil(t, w.r)
}
