package persistentpodstate

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/controllertest"
)

const (
	theirs = "apps/v1"
	ours   = "apps.kruise.io/v1beta1"
	host   = "kubernetes.io/hostname"
	zone   = "topology.kubernetes.io/zone"
)

type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
}

// newWorld returns a cluster with the nodes n1 and n2 in the zone a, and n3 without a zone.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newGatedWorld(t, "")
}

// newGatedWorld is newWorld with feature gates, for example "A=true".
func newGatedWorld(t *testing.T, gates string) *world {
	t.Helper()
	f := controllertest.New(t, gates)
	r, skeleton := build(f.Deps, Options{Namespace: controllertest.SystemNamespace})
	f.Control(skeleton)
	r.targets = controller.NewPacer(0)
	w := &world{Fixture: f, t: t, r: r}
	for _, name := range []string{"n1", "n2", "n3"} {
		labels := map[string]string{host: name}
		if name != "n3" {
			labels[zone] = "a"
		}
		w.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	return w
}

// state adds a PersistentPodState of StatefulSet web that requires the host.
func (w *world) state(apiVersion string, edits ...func(*v1beta1.PersistentPodStateSpec)) {
	w.t.Helper()
	state := &v1beta1.PersistentPodState{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "state", Generation: 1},
		Spec: v1beta1.PersistentPodStateSpec{
			TargetRef:                  v1beta1.TargetReference{APIVersion: apiVersion, Kind: "StatefulSet", Name: "web"},
			RequiredPersistentTopology: &v1beta1.NodeTopologyTerm{Keys: []string{host}},
		},
	}
	for _, edit := range edits {
		edit(&state.Spec)
	}
	w.Add(state)
}

func whenDeleted(spec *v1beta1.PersistentPodStateSpec) {
	spec.PersistentPodStateRetentionPolicy = v1beta1.PersistentPodStateRetentionPolicyWhenDeleted
}

func prefers(key string) func(*v1beta1.PersistentPodStateSpec) {
	return func(spec *v1beta1.PersistentPodStateSpec) {
		spec.PreferredPersistentTopology = []v1beta1.PreferredTopologyTerm{
			{Weight: 10, Preference: v1beta1.NodeTopologyTerm{Keys: []string{key}}},
		}
	}
}

func remembers(keys ...string) func(*v1beta1.PersistentPodStateSpec) {
	return func(spec *v1beta1.PersistentPodStateSpec) {
		for _, key := range keys {
			spec.PersistentPodAnnotations = append(spec.PersistentPodAnnotations, v1beta1.PersistentPodAnnotation{Key: key})
		}
	}
}

// builtIn returns StatefulSet web of Kubernetes.
func builtIn(replicas int32, annotations ...string) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: theirs, Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"},
		Spec:       appsv1.StatefulSetSpec{Replicas: &replicas},
	}
	annotate(set, annotations...)
	return set
}

var games = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "games"}

// game adds Game web, a workload of a kind without Go types.
func (w *world) game(replicas int64, annotations ...string) *dynamicfake.FakeDynamicClient {
	w.t.Helper()
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{games: "GameList"}, game(annotations...))
	client.PrependReactor("get", "games", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if _, err := client.Tracker().Get(games, "ns", "web"); err != nil {
			return true, nil, err
		}
		return action.GetSubresource() == "scale", &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"replicas": replicas},
		}}, nil
	})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{games.GroupVersion()})
	mapper.Add(games.GroupVersion().WithKind("Game"), meta.RESTScopeNamespace)
	w.r.workloads.Dynamic, w.r.workloads.Mapper = client, mapper
	return client
}

func game(annotations ...string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Game", "metadata": map[string]any{"namespace": "ns", "name": "web", "uid": "web"},
	}}
	annotate(object, annotations...)
	return object
}

func ofGame(spec *v1beta1.PersistentPodStateSpec) { spec.TargetRef.Kind = "Game" }

// refuse makes the server refuse to show Games, or one of their subresources.
func refuse(client *dynamicfake.FakeDynamicClient, subresource string) {
	client.PrependReactor("get", "games", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetSubresource() == subresource, nil, apierrors.NewForbidden(games.GroupResource(), "web", nil)
	})
}

// unreadable returns the event about Games that may not be read.
func unreadable(effect string) string {
	return "Warning WorkloadNotReadable The controllers may not read Game.example.com or its scale, so " + effect + "; grant the verb get on " +
		`games.example.com and games.example.com/scale by a ClusterRole with the label rbac.kruise.io/aggregate-to-workloads: "true"`
}

func annotate(object metav1.Object, pairs ...string) {
	annotations := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		annotations[pairs[i]] = pairs[i+1]
	}
	object.SetAnnotations(annotations)
}

// pod returns a ready Pod of the set with UID web on a node.
func pod(name, node string, annotations ...string) *corev1.Pod {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: theirs, Kind: "StatefulSet", Name: "web", UID: "web", Controller: new(true)},
		}},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	annotate(object, annotations...)
	return object
}

func (w *world) settle(name string) []string { return w.Converge("ns", name) }

func (w *world) get(name string) *v1beta1.PersistentPodState {
	w.t.Helper()
	state, err := w.Kruise.AppsV1beta1().PersistentPodStates("ns").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return state
}

// records settles and returns the records of the PersistentPodState.
func (w *world) records() map[string]v1beta1.PodState {
	w.t.Helper()
	w.settle("state")
	return w.get("state").Status.PodStates
}

func (w *world) gone(names ...string) {
	w.t.Helper()
	for _, name := range names {
		require.NoError(w.t, w.Kube.CoreV1().Pods("ns").Delete(w.t.Context(), name, metav1.DeleteOptions{}))
	}
	w.Kube.ClearActions()
}

func on(node string) v1beta1.PodState {
	return v1beta1.PodState{NodeName: node, NodeTopologyLabels: map[string]string{host: node}}
}
