package workloadspread

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
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/spread"
)

type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
}

// newWorld returns a cluster with a node in the zone a and one in the zone b.
func newWorld(t *testing.T) *world {
	t.Helper()
	f := controllertest.New(t, "")
	r, skeleton := build(f.Deps, Options{Namespace: controllertest.SystemNamespace})
	f.Control(skeleton)
	w := &world{Fixture: f, t: t, r: r}
	for _, zone := range []string{"a", "b"} {
		w.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + zone, Labels: map[string]string{"zone": zone}}})
	}
	return w
}

// spread adds WorkloadSpread ws of a workload with the name web.
func (w *world) spread(apiVersion, kind string, subsets []v1beta1.WorkloadSpreadSubset, edits ...func(*v1beta1.WorkloadSpread)) {
	w.t.Helper()
	object := &v1beta1.WorkloadSpread{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "ws", UID: "ws", Generation: 1, CreationTimestamp: metav1.NewTime(controllertest.Now),
		},
		Spec: v1beta1.WorkloadSpreadSpec{TargetRef: &v1beta1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: "web"}, Subsets: subsets},
	}
	for _, edit := range edits {
		edit(object)
	}
	w.Add(object)
}

// ofCloneSet adds CloneSet web and its WorkloadSpread.
func (w *world) ofCloneSet(replicas int32, subsets []v1beta1.WorkloadSpreadSubset, edits ...func(*v1beta1.WorkloadSpread)) {
	w.t.Helper()
	w.Add(&v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}, Spec: v1beta1.CloneSetSpec{Replicas: &replicas}})
	w.spread("apps.kruise.io/v1alpha1", "CloneSet", subsets, edits...)
}

// ofGame adds WorkloadSpread ws of Game web, whose Pods belong to a Team. It has half of its replicas in subset a.
func (w *world) ofGame(replicas int64) *dynamicfake.FakeDynamicClient {
	w.t.Helper()
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	object := func(kind, name string, owners ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version.String(), "kind": kind, "metadata": map[string]any{
			"namespace": "ns", "name": name, "uid": name, "ownerReferences": owners,
		}}}
	}
	owner := map[string]any{"apiVersion": version.String(), "kind": "Game", "name": "web", "uid": "web", "controller": true}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		version.WithResource("games"): "GameList", version.WithResource("teams"): "TeamList",
	}, object("Game", "web"), object("Team", "team", owner))
	client.PrependReactor("get", "games", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetSubresource() == "scale", &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"replicas": replicas},
		}}, nil
	})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{version})
	mapper.Add(version.WithKind("Game"), meta.RESTScopeNamespace)
	mapper.Add(version.WithKind("Team"), meta.RESTScopeNamespace)
	w.r.custom.Dynamic, w.r.custom.Mapper = client, mapper
	w.Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: controllertest.SystemNamespace, Name: pub.ConfigurationName},
		Data: map[string]string{pub.WorkloadSpreadWorkloadsKey: `{"workloads":[{"group":"example.com","kind":"Game",` +
			`"subResources":[{"group":"example.com","kind":"Team"}]}]}`},
	})
	half := v1beta1.WorkloadSpreadSubset{Name: "a", MaxReplicas: new(intstr.FromString("50%"))}
	w.spread(version.String(), "Game", []v1beta1.WorkloadSpreadSubset{half, open("b")})
	return client
}

// teamPod adds a Pod of the Team of Game web, in subset a.
func (w *world) teamPod(name string) {
	w.t.Helper()
	w.Add(pod(name, "a", func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Team", Name: "team", UID: "team", Controller: new(true)}}
	}))
}

func limited(name string, limit int32) v1beta1.WorkloadSpreadSubset {
	return v1beta1.WorkloadSpreadSubset{Name: name, MaxReplicas: new(intstr.FromInt32(limit))}
}

func open(name string) v1beta1.WorkloadSpreadSubset { return v1beta1.WorkloadSpreadSubset{Name: name} }

func inZone(subset v1beta1.WorkloadSpreadSubset, zone string) v1beta1.WorkloadSpreadSubset {
	subset.RequiredNodeSelector = &corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
	}
	return subset
}

// pod returns a running Pod of the owner. The subset can be empty.
func pod(name, subset string, edits ...func(*corev1.Pod)) *corev1.Pod {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(controllertest.Now), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", UID: "web", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "node-a"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	if subset != "" {
		object.Annotations = map[string]string{pub.MatchedWorkloadSpreadKey: spread.Matched{Name: "ws", Subset: subset}.String()}
	}
	for _, edit := range edits {
		edit(object)
	}
	return object
}

func (w *world) pods(subset string, number int, edits ...func(*corev1.Pod)) {
	w.t.Helper()
	for i := range number {
		w.Add(pod(fmt.Sprintf("%s-%d", subset, i), subset, edits...))
	}
}

func (w *world) get() *v1beta1.WorkloadSpread {
	w.t.Helper()
	object, err := w.Kruise.AppsV1beta1().WorkloadSpreads("ns").Get(w.t.Context(), "ws", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return object
}

// settle reconciles until nothing changes, and returns the status.
func (w *world) settle() *v1beta1.WorkloadSpreadStatus {
	w.t.Helper()
	w.Converge("ns", "ws")
	return &w.get().Status
}

// follow stores a changed object, and makes the passes that the change starts.
func (w *world) follow(changed runtime.Object, keys []types.NamespacedName) {
	w.t.Helper()
	w.Update(changed)
	for _, key := range keys {
		w.Converge(key.Namespace, key.Name)
	}
}

// change edits the WorkloadSpread as a user does.
func (w *world) change(edit func(*v1beta1.WorkloadSpread)) {
	w.t.Helper()
	object := w.get()
	edit(object)
	object.Generation++
	w.Update(object)
}

// rooms returns replicas and free slots of each subset.
func rooms(status *v1beta1.WorkloadSpreadStatus) (rooms []string) {
	for _, s := range status.SubsetStatuses {
		rooms = append(rooms, fmt.Sprintf("%s %d %d", s.Name, s.Replicas, s.MissingReplicas))
	}
	return rooms
}

// placed returns subset and cost of each Pod.
func (w *world) placed() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, one := range w.Pods() {
		matched, _ := spread.MatchedOf(one)
		found[one.Name] = matched.Subset + " " + one.Annotations[pub.PodDeletionCostKey]
	}
	return found
}

func replicaSet(name, hash, revision string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"pod-template-hash": hash},
		Annotations: map[string]string{revisionKey: revision}, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web", Controller: new(true)},
		},
	}}
}
