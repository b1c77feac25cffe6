package podunavailablebudget

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/reconcile"
)

var games = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "games"}

// world is a cluster in which budgets are counted.
type world struct {
	*controllertest.Fixture
	t       *testing.T
	r       *Reconciler
	dynamic *dynamicfake.FakeDynamicClient
	// last is the result of the last reconcile.
	last reconcile.Result
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{Fixture: controllertest.New(t, "", objects...), t: t}
	w.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{games: "GameList"})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{games.GroupVersion()})
	mapper.AddSpecific(games.GroupVersion().WithKind("Game"), games, games.GroupVersion().WithResource("game"), meta.RESTScopeNamespace)
	w.Deps.Dynamic, w.Deps.Mapper = w.dynamic, mapper
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	r, skeleton := build(w.Deps, Options{Namespace: controllertest.SystemNamespace})
	w.Control(skeleton)
	w.r = r
	w.r.pacer = controller.NewPacer(0)
	return w
}

// game adds an object of a kind without Go types, and its scale. Without a selector it has no scale.
func (w *world) game(replicas int64, selector string) {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Game", "metadata": map[string]any{"name": "g", "namespace": "ns", "uid": "game"},
	}}
	require.NoError(w.t, w.dynamic.Tracker().Create(games, object, "ns"))
	if selector == "" {
		w.dynamic.PrependReactor("get", "games", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.GetSubresource() != "scale" {
				return false, nil, nil
			}
			return true, nil, notFound
		})
		return
	}
	w.dynamic.PrependReactor("get", "games", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetSubresource() == "scale", &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": "g", "namespace": "ns"},
			"spec": map[string]any{"replicas": replicas}, "status": map[string]any{"selector": selector},
		}}, nil
	})
}

// reconcile brings the caches up to date and reconciles the budget.
func (w *world) reconcile() policyv1beta1.PodUnavailableBudgetStatus {
	w.t.Helper()
	require.NoError(w.t, w.reconcileBudget("b"))
	return w.budget("b").Status
}

func (w *world) reconcileBudget(name string) (err error) {
	w.Observe()
	w.last, err = w.Pass("ns", name)
	return err
}

// budget reads the budget from the server without its client, because reactors may call it.
func (w *world) budget(name string) *policyv1beta1.PodUnavailableBudget {
	w.t.Helper()
	object, err := w.Kruise.Tracker().Get(policyv1beta1.SchemeGroupVersion.WithResource("podunavailablebudgets"), "ns", name)
	require.NoError(w.t, err)
	budget, ok := object.(*policyv1beta1.PodUnavailableBudget)
	require.True(w.t, ok)
	return budget
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.Kube.CoreV1().Pods("ns").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return pod
}

// change changes a Pod on its server.
func (w *world) change(name string, edit func(*corev1.Pod)) {
	w.t.Helper()
	pod := w.pod(name)
	edit(pod)
	pod.ResourceVersion += "1"
	w.Update(pod)
}

func (w *world) remove(name string) {
	w.t.Helper()
	require.NoError(w.t, w.Kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", name))
}

func owner(apiVersion, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(kind + "-" + name), Controller: new(true)}
}

// newPods returns Pods that serve.
func newPods(n int, prefix string, owners ...metav1.OwnerReference) (pods []runtime.Object) {
	for i := range n {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%d", prefix, i), Namespace: "ns", ResourceVersion: "1",
				Labels: map[string]string{"app": "web", "set": prefix}, OwnerReferences: owners,
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app:1"}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return pods
}

func metaOf(kind, name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(kind + "-" + name), OwnerReferences: owners}
}

func newCloneSet(replicas int32) *v1beta1.CloneSet {
	return &v1beta1.CloneSet{ObjectMeta: metaOf("CloneSet", "c"), Spec: v1beta1.CloneSetSpec{Replicas: &replicas}}
}

// newDeployment returns a Deployment with a ReplicaSet.
func newDeployment(name string, replicas int32) []runtime.Object {
	return []runtime.Object{
		&appsv1.Deployment{ObjectMeta: metaOf("Deployment", name), Spec: appsv1.DeploymentSpec{Replicas: &replicas}},
		newReplicaSet(name+"-1", name, replicas),
	}
}

func newReplicaSet(name, deployment string, replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metaOf("ReplicaSet", name, owner("apps/v1", "Deployment", deployment)), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas},
	}
}

func newBudget(edits ...func(*policyv1beta1.PodUnavailableBudget)) *policyv1beta1.PodUnavailableBudget {
	budget := &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", Generation: 1, UID: "b"},
		Spec:       policyv1beta1.PodUnavailableBudgetSpec{MaxUnavailable: new(intstr.FromString("30%"))},
	}
	for _, edit := range edits {
		edit(budget)
	}
	return budget
}

func target(apiVersion, kind, name string) func(*policyv1beta1.PodUnavailableBudget) {
	return func(b *policyv1beta1.PodUnavailableBudget) {
		b.Spec.TargetRef = &policyv1beta1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: name}
	}
}

func selecting(key, value string) func(*policyv1beta1.PodUnavailableBudget) {
	return func(b *policyv1beta1.PodUnavailableBudget) {
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
}

func called(name string) func(*policyv1beta1.PodUnavailableBudget) {
	return func(b *policyv1beta1.PodUnavailableBudget) { b.Name, b.UID = name, types.UID(name) }
}

var ofCloneSet = target("apps.kruise.io/v1alpha1", "CloneSet", "c")

// base returns the world that most cases start from.
func base(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, append(newPods(10, "p", owner("apps.kruise.io/v1beta1", "CloneSet", "c")), newCloneSet(10), newBudget(ofCloneSet))...)
	w.reconcile()
	w.Writes()
	return w
}

// newFresh returns Deps on which no index has been added yet.
func newFresh(t *testing.T) controller.Deps {
	t.Helper()
	return controllertest.New(t, "").Deps
}
