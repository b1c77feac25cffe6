package pod

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// remembered adds a PersistentPodState of StatefulSet web in its oldest version, with a record of web-0.
func (w *world) remembered(name string, edits ...func(*v1beta1.PersistentPodState)) {
	w.t.Helper()
	state := &v1beta1.PersistentPodState{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: v1beta1.PersistentPodStateSpec{
			TargetRef:                  v1beta1.TargetReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "StatefulSet", Name: "web"},
			RequiredPersistentTopology: &v1beta1.NodeTopologyTerm{Keys: []string{"example.com/host", "missing"}},
			PreferredPersistentTopology: []v1beta1.PreferredTopologyTerm{
				{Weight: 40, Preference: v1beta1.NodeTopologyTerm{Keys: []string{"zone", "missing"}}},
				{Weight: 50, Preference: v1beta1.NodeTopologyTerm{Keys: []string{"missing"}}},
			},
		},
		Status: v1beta1.PersistentPodStateStatus{PodStates: map[string]v1beta1.PodState{"web-0": {
			NodeName: "n1", NodeTopologyLabels: map[string]string{"example.com/host": "n1", "zone": "a"}, Annotations: map[string]string{"ip": "1"},
		}}},
	}
	for _, edit := range edits {
		edit(state)
	}
	require.NoError(w.t, w.topology.states.Add(state))
}

// numbered returns a Pod of StatefulSet web of this project.
func numbered(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet", Name: "web", UID: "web", Controller: new(true)},
		}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "demo"}}, ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "KruisePodReady"}},
		},
	}
}

// Cases persistentpodstate 2, 3.
// Case pod-admission 12.
func TestRecordedTopologyIsRequiredAndPreferred(t *testing.T) {
	w := newWorld(t, "", nil)
	w.remembered("web")
	pod := numbered("web-0")
	pod.Spec.NodeSelector = map[string]string{"example.com/host": "other", "kept": "x"}
	pod = w.create(pod)
	assert.Equal(t, map[string]string{"example.com/host": "n1", "kept": "x"}, pod.Spec.NodeSelector)
	assert.Equal(t, []corev1.PreferredSchedulingTerm{{Weight: 40, Preference: corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}},
	}}}, pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	assert.Equal(t, map[string]string{"kruise.io/injected-persistent-pod-state": "web"}, pod.Annotations)
}

// The Pod would fit no node otherwise.
func TestRecordThatTheRequiredNodesExcludeIsNotApplied(t *testing.T) {
	term := func(operator corev1.NodeSelectorOperator, keyAndValues ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "other", Operator: corev1.NodeSelectorOpExists}, {Key: keyAndValues[0], Operator: operator, Values: keyAndValues[1:]},
		}}
	}
	elsewhere := term(corev1.NodeSelectorOpIn, "example.com/host", "n2", "n3")
	for name, test := range map[string]struct {
		terms   []corev1.NodeSelectorTerm
		applied bool
	}{
		"another value":            {[]corev1.NodeSelectorTerm{elsewhere}, false},
		"not the recorded value":   {[]corev1.NodeSelectorTerm{term(corev1.NodeSelectorOpNotIn, "example.com/host", "n1")}, false},
		"without the label":        {[]corev1.NodeSelectorTerm{elsewhere, term(corev1.NodeSelectorOpDoesNotExist, "example.com/host")}, false},
		"the recorded value":       {[]corev1.NodeSelectorTerm{term(corev1.NodeSelectorOpIn, "example.com/host", "n1", "n2")}, true},
		"one of the terms":         {[]corev1.NodeSelectorTerm{elsewhere, term(corev1.NodeSelectorOpIn, "unknown", "x")}, true},
		"against a preferred only": {[]corev1.NodeSelectorTerm{term(corev1.NodeSelectorOpNotIn, "zone", "a")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", nil)
			w.remembered("web")
			pod := numbered("web-0")
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: test.terms},
			}}
			created := w.create(pod)
			if !test.applied {
				assert.Empty(t, created.Spec.NodeSelector)
				assert.Empty(t, created.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
				assert.Empty(t, created.Annotations)
				return
			}
			assert.Equal(t, map[string]string{"example.com/host": "n1"}, created.Spec.NodeSelector)
			assert.Contains(t, created.Annotations, "kruise.io/injected-persistent-pod-state")
		})
	}
}

// The subset comes first, and its nodes win over the record.
func TestSubsetWinsOverTheRecord(t *testing.T) {
	w := newWorld(t, "", nil)
	a := open("a")
	a.RequiredNodeSelector = &corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}},
	}
	w.spread("apps.kruise.io/v1beta1", "StatefulSet", []v1beta1.WorkloadSpreadSubset{a})
	w.remembered("web", func(s *v1beta1.PersistentPodState) {
		s.Spec.RequiredPersistentTopology.Keys = []string{"example.com/host", "zone"}
	})
	pod := w.create(numbered("web-0"))
	assert.Empty(t, pod.Spec.NodeSelector)
	assert.Equal(t, []string{"apps.kruise.io/matched-workloadspread"}, slices.Collect(maps.Keys(pod.Annotations)))
}

func TestPreferencesOfTheTemplateStay(t *testing.T) {
	w := newWorld(t, "", nil)
	w.remembered("web", func(s *v1beta1.PersistentPodState) { s.Spec.RequiredPersistentTopology = nil })
	pod := numbered("web-0")
	own := corev1.PreferredSchedulingTerm{Weight: 1, Preference: corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}},
	}}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{own},
	}}
	pod = w.create(pod)
	preferred := pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	require.Len(t, preferred, 2)
	assert.Equal(t, own, preferred[0])
	assert.Empty(t, pod.Spec.NodeSelector)
}

// Cases persistentpodstate 4, 5.
// Case pod-admission 12.
func TestPodsWithoutARecordAreUnchanged(t *testing.T) {
	now := metav1.NewTime(worldTime)
	for name, test := range map[string]struct {
		pod  string
		edit func(*v1beta1.PersistentPodState)
	}{
		"first time":      {"web-1", func(*v1beta1.PersistentPodState) {}},
		"no recorded key": {"web-0", func(s *v1beta1.PersistentPodState) { s.Status.PodStates["web-0"] = v1beta1.PodState{NodeName: "n1"} }},
		"deleted":         {"web-0", func(s *v1beta1.PersistentPodState) { s.DeletionTimestamp = &now }},
		"another kind":    {"web-0", func(s *v1beta1.PersistentPodState) { s.Spec.TargetRef.APIVersion = "apps/v1" }},
		"another set":     {"web-0", func(s *v1beta1.PersistentPodState) { s.Spec.TargetRef.Name = "other" }},
		"elsewhere":       {"web-0", func(s *v1beta1.PersistentPodState) { s.Namespace = "other" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", nil)
			w.remembered("web", test.edit)
			pod := numbered(test.pod)
			assert.Equal(t, pod, w.create(pod))
		})
	}
}
