package validation_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func podState() *apps.PersistentPodState {
	return &apps.PersistentPodState{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.PersistentPodStateSpec{
			TargetRef:                  apps.TargetReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"},
			RequiredPersistentTopology: &apps.NodeTopologyTerm{Keys: []string{"kubernetes.io/hostname"}},
		},
	}
}

// Cases persistentpodstate 3, 9.
func TestPersistentPodState(t *testing.T) {
	type spec = apps.PersistentPodStateSpec
	prefer := func(s *spec, weight int32, keys ...string) {
		s.PreferredPersistentTopology = []apps.PreferredTopologyTerm{{Weight: weight, Preference: apps.NodeTopologyTerm{Keys: keys}}}
	}
	cases := map[string]struct {
		change func(*spec)
		want   []string
	}{
		"valid": {func(*spec) {}, nil},
		"empty target": {
			func(s *spec) { s.TargetRef = apps.TargetReference{} },
			[]string{"spec.targetRef.apiVersion: Required", "spec.targetRef.kind: Required", "spec.targetRef.name: Required"},
		},
		"no topology":           {func(s *spec) { s.RequiredPersistentTopology = nil }, []string{"spec: Required"}},
		"topology without keys": {func(s *spec) { s.RequiredPersistentTopology.Keys = nil; prefer(s, 1) }, []string{"spec: Required"}},
		"preference alone":      {func(s *spec) { s.RequiredPersistentTopology = nil; prefer(s, 100, "zone") }, nil},
		"empty preference":      {func(s *spec) { prefer(s, 100) }, nil},
		"weight 0":              {func(s *spec) { prefer(s, 0, "zone") }, []string{"spec.preferredPersistentTopology[0].weight: 0"}},
		"weight 101":            {func(s *spec) { prefer(s, 101, "zone") }, []string{"spec.preferredPersistentTopology[0].weight: 101"}},
		"keys": {
			func(s *spec) { s.RequiredPersistentTopology.Keys = []string{"a b"}; prefer(s, 1, "zone", "") },
			[]string{`spec.requiredPersistentTopology.keys[0]: "a b"`, "spec.preferredPersistentTopology[0].preference.keys[1]: "},
		},
		"annotations": {func(s *spec) {
			s.PersistentPodAnnotations = []apps.PersistentPodAnnotation{{Key: "cni.example.com/IP"}}
		}, nil},
		"annotations wrong": {
			func(s *spec) {
				s.PersistentPodAnnotations = []apps.PersistentPodAnnotation{{}, {Key: "a"}, {Key: "a"}, {Key: "a b"}}
			},
			[]string{
				"spec.persistentPodAnnotations[0].key: Required", "spec.persistentPodAnnotations[2].key: Duplicate",
				`spec.persistentPodAnnotations[3].key: "a b"`,
			},
		},
		"WhenDeleted": {func(s *spec) { s.PersistentPodStateRetentionPolicy = "WhenDeleted" }, nil},
		"WhenScaled":  {func(s *spec) { s.PersistentPodStateRetentionPolicy = "WhenScaled" }, nil},
		"unknown policy": {
			func(s *spec) { s.PersistentPodStateRetentionPolicy = "Never" }, []string{`spec.persistentPodStateRetentionPolicy: "Never"`},
		},
	}
	for name, test := range cases {
		changed := func() *apps.PersistentPodState {
			object := podState()
			test.change(&object.Spec)
			return object
		}
		t.Run("create: "+name, func(t *testing.T) {
			rulestest.Errors(t, test.want, validation.ValidatePersistentPodState(changed()))
		})
		t.Run("sets: "+name, func(t *testing.T) {
			if name == "empty target" {
				return // an update cannot change it at all
			}
			rulestest.Errors(t, test.want, validation.ValidatePersistentPodStateUpdate(changed(), podState()))
		})
		t.Run("leaves: "+name, func(t *testing.T) {
			rulestest.UpdateOfLabels(t, changed(), changed(), validation.ValidatePersistentPodStateUpdate)
		})
	}
}

// Case persistentpodstate 10.
func TestPersistentPodStateTargetStays(t *testing.T) {
	updated := podState()
	updated.Spec.TargetRef.Name = "other"
	rulestest.Errors(t, []string{"spec.targetRef: targetRef is immutable"}, validation.ValidatePersistentPodStateUpdate(updated, podState()))
}

func TestPersistentPodStateErrorsInV1alpha1(t *testing.T) {
	object := podState()
	object.Spec.RequiredPersistentTopology.Keys = []string{"a b"}
	object.Spec.PreferredPersistentTopology = []apps.PreferredTopologyTerm{
		{Weight: 1, Preference: apps.NodeTopologyTerm{Keys: []string{"c d"}}},
	}
	rulestest.Errors(t, []string{
		"spec.requiredPersistentTopology.nodeTopologyKeys[0]: a b", "spec.preferredPersistentTopology[0].preference.nodeTopologyKeys[0]: c d",
	}, validation.PersistentPodStateErrorsIn("v1alpha1", validation.ValidatePersistentPodState(object)))
}

func TestPersistentPodStateStatus(t *testing.T) {
	updated := podState()
	updated.Status.ObservedGeneration = -1
	rulestest.Errors(t, []string{"status.observedGeneration: -1"}, validation.ValidatePersistentPodStateStatusUpdate(updated, podState()))
}
