package pod

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
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
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/spread"
)

// spread adds WorkloadSpread ws of a workload to the cache and the store.
func (w *world) spread(apiVersion, kind string, subsets []v1beta1.WorkloadSpreadSubset, edits ...func(*v1beta1.WorkloadSpread)) {
	w.t.Helper()
	object := &v1beta1.WorkloadSpread{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ws", UID: "ws"},
		Spec:       v1beta1.WorkloadSpreadSpec{TargetRef: &v1beta1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: "web"}, Subsets: subsets},
	}
	for _, edit := range edits {
		edit(object)
	}
	w.store(object)
	require.NoError(w.t, w.spreads.known.Add(object))
}

func (w *world) store(object *v1beta1.WorkloadSpread) {
	w.stored.objects[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}] = object.DeepCopy()
}

func (w *world) storedSpread() *v1beta1.WorkloadSpread {
	w.t.Helper()
	object, _, err := w.stored.read(types.NamespacedName{Namespace: "ns", Name: "ws"})
	require.NoError(w.t, err)
	return object
}

func limited(name string, limit intstr.IntOrString) v1beta1.WorkloadSpreadSubset {
	return v1beta1.WorkloadSpreadSubset{Name: name, MaxReplicas: &limit}
}

func open(name string) v1beta1.WorkloadSpreadSubset { return v1beta1.WorkloadSpreadSubset{Name: name} }

func called(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Name, pod.GenerateName = name, ""
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "KruisePodReady"}}
	}
}

var ofCloneSet = ownedBy("apps.kruise.io/v1alpha1", "CloneSet", "web", "web")

// subsets creates Pods of the CloneSet, and returns their subsets.
func (w *world) subsets(prefix string, number int, owner func(*corev1.Pod), edits ...func(*corev1.Pod)) (names []string) {
	w.t.Helper()
	for i := range number {
		pod := w.create(newPod(append([]func(*corev1.Pod){called(fmt.Sprintf("%s-%d", prefix, i)), owner}, edits...)...))
		matched, _ := spread.MatchedOf(pod)
		names = append(names, matched.Subset)
	}
	return names
}

// Case workloadspread 1.
func TestPodsFillTheSubsetsInOrder(t *testing.T) {
	w := newWorld(t, "", nil)
	a := limited("a", intstr.FromInt32(2))
	a.RequiredNodeSelector = &corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}},
	}
	w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{a, open("b")})
	pod := w.create(newPod(called("first"), ofCloneSet))
	assert.Equal(t, `{"name":"ws","subset":"a"}`, pod.Annotations["apps.kruise.io/matched-workloadspread"])
	assert.Equal(t, []corev1.NodeSelectorTerm{*a.RequiredNodeSelector},
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
	assert.Equal(t, []string{"a", "b", "b"}, w.subsets("web", 3, ofCloneSet))
	assert.Equal(t, 2, w.stored.writes, "a slot without a limit is not recorded")
	status := w.storedSpread().Status.SubsetStatuses
	assert.Len(t, status[0].CreatingPods, 2)
	assert.Zero(t, status[0].MissingReplicas)
	assert.EqualValues(t, -1, status[1].MissingReplicas)
}

// Case workloadspread 3.
func TestPercentagesFollowTheReplicasOfTheWorkload(t *testing.T) {
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(10))}}
	ofReplicaSet := ownedBy("apps/v1", "ReplicaSet", "web", "web")
	w := newWorld(t, "", []runtime.Object{owner})
	w.spread("apps/v1", "ReplicaSet", []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromString("30%")), limited("b", intstr.FromString("70%"))})
	assert.Equal(t, []string{"a", "a", "a", "b", "b", "b", "b", "b", "b", "b", ""}, w.subsets("web", 11, ofReplicaSet))
	owner.Spec.Replicas = new(int32(20))
	_, err := w.host.AppsV1().ReplicaSets("ns").Update(t.Context(), owner, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "a", "a", "b"}, w.subsets("more", 4, ofReplicaSet))
}

// Cases workloadspread 7, 15.
func TestEachRevisionOfADeploymentHasItsOwnSlots(t *testing.T) {
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", UID: "rs", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web", Controller: new(true)},
	}}}
	ofReplicaSet := ownedBy("apps/v1", "ReplicaSet", "web-1", "rs")
	w := newWorld(t, "", []runtime.Object{owner})
	w.spread("apps/v1", "Deployment", []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(1)), open("b")})
	revision := func(hash string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Labels["pod-template-hash"] = hash }
	}
	assert.Equal(t, []string{"a", "b"}, w.subsets("old", 2, ofReplicaSet, revision("1")))
	pod := w.create(newPod(ofReplicaSet, revision("2")))
	matched, _ := spread.MatchedOf(pod)
	assert.Equal(t, "a", matched.Subset)
	next, _ := spread.MatchedOf(w.create(newPod(ofReplicaSet, revision("2"))))
	assert.Equal(t, spread.Matched{Name: "ws", Subset: "b"}, next, "a Pod without a slot needs no identifier")
	assert.Contains(t, w.storedSpread().Status.VersionedSubsetStatuses["2"][0].CreatingPods, matched.UID)
}

// Case workloadspread 12.
// Case pod-admission 10.
func TestNumberedPodsFillTheSubsetsByTheirNumber(t *testing.T) {
	owner := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}}
	ofStatefulSet := ownedBy("apps/v1", "StatefulSet", "web", "web")
	w := newWorld(t, "", []runtime.Object{owner})
	three := intstr.FromInt32(3)
	w.spread("apps/v1", "StatefulSet", []v1beta1.WorkloadSpreadSubset{limited("a", three), limited("b", three), open("c")})
	assert.Equal(t, []string{"a", "a", "a", "b", "b", "b", "c"}, w.subsets("web", 7, ofStatefulSet))
	assert.Zero(t, w.stored.writes)
}

// Numbers before the first one, and reserved numbers, take no place in a subset.
func TestNumbersThatAreNotUsedTakeNoSlot(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}
	kube := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Ordinals: &appsv1.StatefulSetOrdinals{Start: 2}}}
	kruise := &v1beta1.StatefulSet{ObjectMeta: meta, Spec: v1beta1.StatefulSetSpec{
		ReserveOrdinals: []intstr.IntOrString{intstr.FromInt32(3)}, Ordinals: &v1beta1.StatefulSetOrdinals{Start: 2},
	}}
	for name, test := range map[string]struct {
		gates, version string
		want           []string
	}{
		"of Kubernetes":    {"", "apps/v1", []string{"a", "a", "a", "a", "b"}},
		"of this project":  {"StatefulSetStartOrdinal=true", "apps.kruise.io/v1beta1", []string{"a", "a", "a", "a", "a"}},
		"without the gate": {"", "apps.kruise.io/v1beta1", []string{"a", "a", "b", "b", "b"}},
	} {
		w := newWorld(t, test.gates, []runtime.Object{kube}, kruise)
		w.spread(test.version, "StatefulSet", []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(2)), open("b")})
		assert.Equal(t, test.want, w.subsets("web", 5, ownedBy(test.version, "StatefulSet", "web", "web")), name)
	}
}

func TestSlotIsNotTakenFromAReplacedWorkloadSpread(t *testing.T) {
	w := newWorld(t, "", nil)
	w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(1))})
	w.stored.objects[types.NamespacedName{Namespace: "ns", Name: "ws"}].UID = "another"
	_, err := w.tryCreate(newPod(called("web"), ofCloneSet))
	assert.ErrorContains(t, err, "the WorkloadSpread was replaced by another one of the same name")
}

// Case workloadspread 14.
func TestPatchOfASubsetIsMergedIntoThePod(t *testing.T) {
	w := newWorld(t, "", nil)
	a := open("a")
	a.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
	a.PreferredNodeSelector = []corev1.PreferredSchedulingTerm{{Weight: 5, Preference: corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "cheap", Operator: corev1.NodeSelectorOpExists}},
	}}}
	a.Patch = &runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"subset":"a"}},"spec":{"priorityClassName":"low",` +
		`"containers":[{"name":"main","env":[{"name":"SUBSET","value":"a"}]}]}}`)}
	w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{a})
	pod := w.create(newPod(called("web"), ofCloneSet, func(pod *corev1.Pod) {
		pod.Spec.PriorityClassName, pod.Spec.Priority = "high", new(int32(7))
	}))
	assert.Equal(t, map[string]string{"app": "web", "subset": "a"}, pod.Labels)
	assert.Equal(t, "low", pod.Spec.PriorityClassName)
	assert.Nil(t, pod.Spec.Priority)
	assert.Equal(t, []corev1.EnvVar{{Name: "SUBSET", Value: "a"}}, pod.Spec.Containers[0].Env)
	assert.Equal(t, "app:1", pod.Spec.Containers[0].Image)
	assert.Equal(t, a.Tolerations, pod.Spec.Tolerations)
	assert.Equal(t, a.PreferredNodeSelector, pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
}

// A patch can remove elements of lists, in front of others too.
func TestPatchOfASubsetRemovesContainers(t *testing.T) {
	for removed, want := range map[string][]string{"extra": {"main"}, "main": {"extra"}} {
		w := newWorld(t, "", nil)
		a := open("a")
		a.Patch = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"name":"` + removed + `","$patch":"delete"}]}}`)}
		w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{a})
		pod := w.create(newPod(called("web"), ofCloneSet, func(pod *corev1.Pod) {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "extra", Image: "extra:1"})
		}))
		assert.Equal(t, want, namesOf(pod.Spec.Containers))
	}
}

// Case pod-admission 3.
func TestSidecarSetsSelectPodsByLabelsOfTheirSubset(t *testing.T) {
	w := worldOf(t, "", nil, newSet("sidecars", []string{"agent"}, func(set *v1beta1.SidecarSet) {
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"sidecar": "yes"}}
	}))
	a := limited("a", intstr.FromInt32(1))
	a.Patch = &runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"sidecar":"yes"}}}`)}
	w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{a, open("b")})
	assert.Equal(t, []string{"agent", "main"}, namesOf(w.create(newPod(called("one"), ofCloneSet)).Spec.Containers))
	assert.Equal(t, []string{"main"}, namesOf(w.create(newPod(called("two"), ofCloneSet)).Spec.Containers))
}

// The WorkloadSpread of the closest owner wins. Of several of one owner, the first by name does.
func TestWhichWorkloadSpreadAPodHas(t *testing.T) {
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", UID: "rs", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web", Controller: new(true)},
	}}}
	of := func(name, kind, target string) *v1beta1.WorkloadSpread {
		return &v1beta1.WorkloadSpread{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
			Spec: v1beta1.WorkloadSpreadSpec{
				TargetRef: &v1beta1.TargetReference{APIVersion: "apps/v1", Kind: kind, Name: target}, Subsets: []v1beta1.WorkloadSpreadSubset{open(name)},
			},
		}
	}
	set, a, b := of("set", "ReplicaSet", "web-1"), of("a", "Deployment", "web"), of("b", "Deployment", "web")
	for name, tc := range map[string]struct {
		all  []*v1beta1.WorkloadSpread
		uid  string
		want string
	}{
		"of the ReplicaSet and the Deployment": {[]*v1beta1.WorkloadSpread{a, set}, "rs", "set"},
		"two of the Deployment":                {[]*v1beta1.WorkloadSpread{b, a}, "rs", "a"},
		"of a ReplicaSet that was replaced":    {[]*v1beta1.WorkloadSpread{a}, "former", ""},
		"of another Deployment":                {[]*v1beta1.WorkloadSpread{of("c", "Deployment", "other")}, "rs", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", []runtime.Object{owner})
			for _, object := range tc.all {
				w.store(object)
				require.NoError(t, w.spreads.known.Add(object))
			}
			matched, _ := spread.MatchedOf(w.create(newPod(called("web"), ownedBy("apps/v1", "ReplicaSet", "web-1", tc.uid))))
			assert.Equal(t, tc.want, matched.Name)
		})
	}
}

// Case pod-admission 11.
func TestRequiredTermIsAddedToEveryTermOfThePod(t *testing.T) {
	expression := func(key string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpExists}
	}
	term := func(keys ...string) (term corev1.NodeSelectorTerm) {
		for _, key := range keys {
			term.MatchExpressions = append(term.MatchExpressions, expression(key))
		}
		return term
	}
	w := newWorld(t, "", nil)
	a := open("a")
	a.RequiredNodeSelector = new(term("zone"))
	w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{a})
	pod := w.create(newPod(called("web"), ofCloneSet, func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{term("x"), term("y")},
		}}}
	}))
	assert.Equal(t, []corev1.NodeSelectorTerm{term("x", "zone"), term("y", "zone")},
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
}

// Cases workloadspread 18, 19.
// Cases pod-admission 8, 9.
func TestPodsThatGetNoSlotAreUnchanged(t *testing.T) {
	full := []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(0))}
	free := []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(5))}
	tests := map[string]struct {
		gates   string
		subsets []v1beta1.WorkloadSpreadSubset
		edit    func(*v1beta1.WorkloadSpread)
		pod     *corev1.Pod
		dry     bool
	}{
		"all subsets are full":    {subsets: full, pod: newPod(called("web"), ofCloneSet)},
		"a dry run":               {subsets: free, pod: newPod(called("web"), ofCloneSet), dry: true},
		"the gate is off":         {gates: "WorkloadSpread=false", subsets: free, pod: newPod(called("web"), ofCloneSet)},
		"another workload":        {subsets: free, pod: newPod(called("web"), ownedBy("apps.kruise.io/v1beta1", "CloneSet", "other", "other"))},
		"no workload":             {subsets: free, pod: newPod(called("web"))},
		"a finished Pod":          {subsets: free, pod: newPod(called("web"), ofCloneSet, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })},
		"the filter skips it":     {subsets: free, pod: newPod(called("web"), ofCloneSet), edit: filtered},
		"the object goes away":    {subsets: free, pod: newPod(called("web"), ofCloneSet), edit: terminating},
		"a subset without a node": {subsets: free, pod: newPod(called("web"), ofCloneSet), edit: unschedulable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.gates, nil)
			edit := test.edit
			if edit == nil {
				edit = func(*v1beta1.WorkloadSpread) {}
			}
			w.spread("apps.kruise.io/v1beta1", "CloneSet", test.subsets, edit)
			operations, err := w.Patch(t.Context(), admission.NewAttributesRecord(test.pod, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "ns",
				test.pod.Name, corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, &metav1.CreateOptions{}, test.dry, nil))
			require.NoError(t, err)
			assert.Empty(t, operations)
			assert.Zero(t, w.stored.writes)
		})
	}
}

func filtered(object *v1beta1.WorkloadSpread) {
	object.Spec.TargetFilter = &v1beta1.TargetFilter{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "main"}}}
}

func terminating(object *v1beta1.WorkloadSpread) {
	object.DeletionTimestamp = &metav1.Time{Time: worldTime}
}

func unschedulable(object *v1beta1.WorkloadSpread) {
	object.Status.SubsetStatuses = []v1beta1.WorkloadSpreadSubsetStatus{{Name: "a", MissingReplicas: 5, Conditions: []v1beta1.WorkloadSpreadSubsetCondition{
		{Type: v1beta1.SubsetSchedulable, Status: corev1.ConditionFalse},
	}}}
}

func TestPodIsNotCreatedIfItsSlotCannotBeStored(t *testing.T) {
	w := newWorld(t, "", nil)
	w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(1))})
	w.stored.fails = errors.New("no leader")
	_, err := w.tryCreate(newPod(called("web"), ofCloneSet))
	assert.ErrorContains(t, err, "reserve a slot in WorkloadSpread ns/ws: no leader")
}

// If this server may not read the kind of a workload, percentages are those that the controller has computed.
// Case workloadspread 24.
func TestPercentagesOfCustomWorkloads(t *testing.T) {
	for name, tc := range map[string]struct {
		refused error
		missing bool
		want    []string
	}{
		"as the workload says":          {want: []string{"a", "a", "a", "b", "b", "b", ""}},
		"of a workload that is deleted": {missing: true, want: []string{"", "", "", "", "", "", ""}},
		"as the last recount says": {
			refused: apierrors.NewForbidden(schema.GroupResource{Resource: "games"}, "web", errors.New("no rule")),
			want:    []string{"a", "a", "b", "", "", "", ""},
		},
		"its server is down": {refused: apierrors.NewServiceUnavailable("no endpoints"), want: []string{"a", "a", "b", "", "", "", ""}},
		"its kind is not discovered": {
			refused: &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Game"}},
			want:    []string{"a", "a", "b", "", "", "", ""},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, spreadGames(t, tc.refused, tc.missing)) })
	}
}

// The controller counts Pods below a custom workload only through the kinds that the administrator lists.
func TestPodsBelowACustomWorkloadGetSlotsThroughListedKinds(t *testing.T) {
	for subResources, want := range map[string][]string{
		``: {"", ""}, `,"subResources":[{"group":"example.com","kind":"Team"}]`: {"", ""},
		`,"subResources":[{"group":"apps","kind":"ReplicaSet"}]`: {"a", "a"},
	} {
		t.Run(subResources, func(t *testing.T) {
			w := newWorld(t, "", []runtime.Object{&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "web-1", UID: "rs", OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "example.com/v1", Kind: "Game", Name: "web", UID: "web", Controller: new(true)},
				},
			}}})
			w.allow(t, `{"workloads":[{"group":"example.com","kind":"Game","replicasPath":"spec.players"`+subResources+`}]}`)
			w.spread("example.com/v1", "Game", []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(2))})
			assert.Equal(t, want, w.subsets("game", 2, ownedBy("apps/v1", "ReplicaSet", "web-1", "rs")))
		})
	}
}

// The WorkloadSpread came before the workload, so validation could not see that its patch releases the Pods.
// Case workloadspread 14a.
func TestLabelsThatReleaseThePodAreLeftOut(t *testing.T) {
	recorded := &warnings{}
	w := newWorld(t, "", nil, &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"},
		Spec:       v1beta1.CloneSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	})
	subset := open("a")
	subset.Patch = &runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"app":"db","zone":"a"}}}`)}
	w.spread("apps.kruise.io/v1beta1", "CloneSet", []v1beta1.WorkloadSpreadSubset{subset})
	pod := newPod(called("web-1"), ownedBy("apps.kruise.io/v1beta1", "CloneSet", "web", "web"))
	operations, err := w.Patch(warning.WithWarningRecorder(t.Context(), recorded), w.attributes(pod))
	require.NoError(t, err)
	text, err := json.Marshal(operations)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"path":"/metadata/labels/zone"`)
	assert.NotContains(t, string(text), `"path":"/metadata/labels/app"`)
	require.Len(t, *recorded, 1)
	assert.Contains(t, (*recorded)[0], `would not match the selector "app=web" of its controller`)
}

// A mistake in the administrator's list does not keep a Pod from what else concerns it.
// Case configuration 5.
func TestMistakeInTheListDoesNotFailTheReview(t *testing.T) {
	w := newWorld(t, "", []runtime.Object{&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web-1", UID: "rs", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "example.com/v1", Kind: "Game", Name: "web", UID: "web", Controller: new(true)},
		},
	}}})
	w.allow(t, "{")
	w.spread("example.com/v1", "Game", []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(2))})
	assert.Equal(t, []string{"", ""}, w.subsets("game", 2, ownedBy("apps/v1", "ReplicaSet", "web-1", "rs")))
}

// allow writes the administrator's list of kinds.
func (w *world) allow(t *testing.T, list string) {
	t.Helper()
	_, err := w.host.CoreV1().ConfigMaps("kruise-system").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: pub.ConfigurationName}, Data: map[string]string{pub.WorkloadSpreadWorkloadsKey: list},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// spreadGames returns the subsets of seven Pods of a workload of a custom kind that wants six.
func spreadGames(t *testing.T, refused error, missing bool) []string {
	t.Helper()
	w := newWorld(t, "", nil)
	games := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "games"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{games: "GameList"})
	if !missing {
		require.NoError(t, client.Tracker().Add(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Game", "metadata": map[string]any{"namespace": "ns", "name": "web"},
			"spec": map[string]any{"players": int64(6)},
		}}))
	}
	client.PrependReactor("get", "games", func(clienttesting.Action) (bool, runtime.Object, error) { return refused != nil, nil, refused })
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{games.GroupVersion()})
	mapper.Add(games.GroupVersion().WithKind("Game"), meta.RESTScopeNamespace)
	w.SetDynamicClient(client)
	w.SetRESTMapper(mapper)
	w.allow(t, `{"workloads":[{"group":"example.com","kind":"Game","replicasPath":"spec.players"}]}`)
	w.spread("example.com/v1", "Game", []v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromString("50%")), limited("b", intstr.FromString("50%"))},
		func(object *v1beta1.WorkloadSpread) {
			object.Status.SubsetStatuses = []v1beta1.WorkloadSpreadSubsetStatus{{Name: "a", MissingReplicas: 2}, {Name: "b", MissingReplicas: 1}}
		})
	return w.subsets("game", 7, ownedBy("example.com/v1", "Game", "web", "web"))
}

// Two API servers never give the same slot, and never more slots than there are.
// Case workloadspread 8.
func TestConcurrentPodsNeverExceedASubset(t *testing.T) {
	const creators, pods, inA, inB = 64, 5, 40, 25
	servers := []*world{newWorld(t, "", nil), newWorld(t, "", nil)}
	stored := newStoredSpreads()
	stored.written = func(object *v1beta1.WorkloadSpread) {
		for i, limit := range []int{inA, inB} {
			assert.LessOrEqual(t, len(object.Status.SubsetStatuses[i].CreatingPods), limit)
		}
	}
	for _, w := range servers {
		w.stored = stored
		w.spreads.store = stored.replica()
		w.spread("apps.kruise.io/v1beta1", "CloneSet",
			[]v1beta1.WorkloadSpreadSubset{limited("a", intstr.FromInt32(inA)), limited("b", intstr.FromInt32(inB)), open("c")})
	}
	var lock sync.Mutex
	counts := map[string]int{}
	var group sync.WaitGroup
	for creator := range creators {
		group.Go(func() {
			w := servers[creator%len(servers)]
			for i := range pods {
				pod := newPod(ofCloneSet)
				if i%2 == 0 {
					pod = newPod(called(fmt.Sprintf("web-%d-%d", creator, i)), ofCloneSet)
				}
				e := &edit{pod: pod}
				if !assert.NoError(t, w.spreads.mutate(t.Context(), e, w.attributes(pod))) {
					return
				}
				matched, _ := spread.MatchedOf(e.pod)
				lock.Lock()
				counts[matched.Subset]++
				lock.Unlock()
			}
		})
	}
	group.Wait()
	assert.Equal(t, map[string]int{"a": inA, "b": inB, "c": creators*pods - inA - inB}, counts)
	t.Logf("%d Pods, %d writes, %d conflicts", creators*pods, stored.writes, stored.conflicts)
}
