package pod

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	appsv1beta1 "kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

func targeting(name, apiVersion, kind, target string) *v1beta1.PodUnavailableBudget {
	return &v1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec: v1beta1.PodUnavailableBudgetSpec{TargetRef: &v1beta1.TargetReference{
			APIVersion: apiVersion, Kind: kind, Name: target,
		}},
	}
}

func selecting(name, app string) *v1beta1.PodUnavailableBudget {
	return &v1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec:       v1beta1.PodUnavailableBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
}

// replicaSet returns a ReplicaSet of Deployment d.
func replicaSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: "r", Namespace: "ns", UID: "r",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "d", Controller: new(true)}},
	}}
}

func related(old, current string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"mine": "kept", "kruise.io/related-pub": old, "pub.kruise.io/related-pub": current}
	}
}

var ofDeployment = ownedBy("apps/v1", "ReplicaSet", "r", "r")

// Cases pod-admission 1, 19.
func TestBudget(t *testing.T) {
	type budgets = []*v1beta1.PodUnavailableBudget
	cloneSet := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "c"}}
	tests := map[string]struct {
		budgets budgets
		pod     *corev1.Pod
		gates   string
		want    string
	}{
		"no budget at all":                     {pod: newPod(ofDeployment)},
		"none governs it":                      {budgets: budgets{selecting("b", "db"), targeting("c", "apps/v1", "Deployment", "other")}, pod: newPod(ofDeployment)},
		"its Deployment's":                     {budgets: budgets{targeting("b", "apps/v1", "Deployment", "d")}, pod: newPod(ofDeployment), want: "b"},
		"its ReplicaSet's":                     {budgets: budgets{targeting("b", "apps/v1", "ReplicaSet", "r")}, pod: newPod(ofDeployment), want: "b"},
		"its CloneSet's, of another version":   {budgets: budgets{targeting("b", "apps.kruise.io/v1alpha1", "CloneSet", "c")}, pod: newPod(ownedBy("apps.kruise.io/v1beta1", "CloneSet", "c", "c")), want: "b"},
		"by its labels":                        {budgets: budgets{selecting("b", "web")}, pod: newPod(), want: "b"},
		"the target before the selector":       {budgets: budgets{selecting("a", "web"), targeting("b", "apps/v1", "Deployment", "d")}, pod: newPod(ofDeployment), want: "b"},
		"the first by name":                    {budgets: budgets{selecting("b", "web"), selecting("a", "web")}, pod: newPod(), want: "a"},
		"of another namespace":                 {budgets: budgets{{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "other"}, Spec: selecting("b", "web").Spec}}, pod: newPod()},
		"another one is named":                 {budgets: budgets{selecting("b", "web"), selecting("c", "db")}, pod: newPod(related("c", "gone")), want: "b"},
		"one is named and none governs it":     {budgets: budgets{selecting("c", "db")}, pod: newPod(related("c", "c"))},
		"one is named but does not exist":      {pod: newPod(related("c", "c"))},
		"one whose Pods only scale tells":      {budgets: budgets{targeting("b", "example.com/v1", "Game", "g")}, pod: newPod(related("", "b")), want: "b"},
		"the owner is not there":               {budgets: budgets{targeting("b", "apps/v1", "ReplicaSet", "gone")}, pod: newPod(ownedBy("apps/v1", "ReplicaSet", "gone", "x")), want: "b"},
		"the owner is another by now":          {budgets: budgets{targeting("b", "apps/v1", "Deployment", "d")}, pod: newPod(ownedBy("apps/v1", "ReplicaSet", "r", "old"))},
		"the gate of updates alone":            {budgets: budgets{selecting("b", "web")}, gates: "PodUnavailableBudgetDeleteGate=false,PodUnavailableBudgetUpdateGate=true", pod: newPod(), want: "b"},
		"of an unreadable kind":                {budgets: budgets{targeting("b", "example.com/v1", "Game", "g")}, pod: newPod(ownedBy("example.com/v1", "Game", "g", "g")), want: "b"},
		"with a name already":                  {budgets: budgets{selecting("b", "web")}, pod: newPod(func(p *corev1.Pod) { p.Name, p.GenerateName = "web-0", "" }), want: "b"},
		"without labels, by its owner's owner": {budgets: budgets{targeting("b", "apps/v1", "Deployment", "d")}, pod: newPod(ofDeployment, func(p *corev1.Pod) { p.Labels = nil }), want: "b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.gates, []runtime.Object{replicaSet()}, cloneSet)
			for _, budget := range test.budgets {
				require.NoError(t, w.budget.known.Add(budget))
			}
			mine := test.pod.Annotations["mine"]
			pod := w.create(test.pod)
			for _, key := range []string{"kruise.io/related-pub", "pub.kruise.io/related-pub"} {
				value, has := pod.Annotations[key]
				assert.Equal(t, test.want, value, key)
				assert.Equal(t, test.want != "", has, key)
			}
			assert.Equal(t, mine, pod.Annotations["mine"])
		})
	}
}

func TestWithoutBothGatesNothingIsSaid(t *testing.T) {
	w := newWorld(t, "PodUnavailableBudgetDeleteGate=false", nil)
	require.NoError(t, w.budget.known.Add(selecting("b", "web")))
	assert.Equal(t, newPod(related("a", "a")), w.create(newPod(related("a", "a"))))
}

// TestFailureDoesNotRefuseThePod checks that the Pod is admitted and that the other mutators still run.
func TestFailureDoesNotRefuseThePod(t *testing.T) {
	w := newWorld(t, "KruisePodReadinessGate=true", []runtime.Object{replicaSet()})
	require.NoError(t, w.budget.known.Add(targeting("b", "apps/v1", "Deployment", "d")))
	down := true
	w.host.PrependReactor("get", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return down, nil, errors.New("etcd has no leader")
	})
	pod := w.create(newPod(ofDeployment))
	assert.Empty(t, pod.Annotations)
	assert.Len(t, pod.Spec.ReadinessGates, 1)
	down = false
	assert.Equal(t, "b", w.create(newPod(ofDeployment)).Annotations["kruise.io/related-pub"], "and it is not remembered")
}

// TestBudgetWithoutItsOwner checks that a Pod names the budget of its own controller, or of its labels, if that controller cannot be
// read.
func TestBudgetWithoutItsOwner(t *testing.T) {
	for name, governs := range map[string]*v1beta1.PodUnavailableBudget{
		"its controller's": targeting("b", "apps/v1", "ReplicaSet", "r"),
		"by its labels":    selecting("b", "web"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", []runtime.Object{replicaSet()})
			require.NoError(t, w.budget.known.Add(governs))
			w.host.PrependReactor("get", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, context.DeadlineExceeded
			})
			assert.Equal(t, "b", w.create(newPod(ofDeployment)).Annotations["kruise.io/related-pub"])
		})
	}
}

// TestOwnersAreReadOnceForABurstOfPods checks that no owner is read in a namespace without a budget, too.
func TestOwnersAreReadOnceForABurstOfPods(t *testing.T) {
	w := newWorld(t, "", []runtime.Object{replicaSet()})
	create := func() string { return w.create(newPod(ofDeployment)).Annotations["kruise.io/related-pub"] }
	assert.Empty(t, create())
	assert.Empty(t, w.host.Actions())
	require.NoError(t, w.budget.known.Add(targeting("b", "apps/v1", "Deployment", "d")))
	for range 100 {
		assert.Equal(t, "b", create())
	}
	assert.Len(t, w.host.Actions(), 1)

	other := newPod(ofDeployment)
	other.OwnerReferences[0].UID = types.UID("old")
	assert.Empty(t, w.create(other).Annotations, "a reference to another object is another")

	// The Deployment releases the ReplicaSet. The change is noticed when the cache entry expires.
	orphan := replicaSet()
	orphan.OwnerReferences = nil
	require.NoError(t, w.host.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("replicasets"), orphan, "ns"))
	w.clock.SetTime(w.clock.Now().Add(11 * time.Second))
	assert.Empty(t, create())
}
