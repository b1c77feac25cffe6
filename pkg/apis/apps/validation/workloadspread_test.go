package validation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func spread() *apps.WorkloadSpread {
	return &apps.WorkloadSpread{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: apps.WorkloadSpreadSpec{
			TargetRef: &apps.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Subsets:   []apps.WorkloadSpreadSubset{{Name: "a", MaxReplicas: number(2)}, {Name: "b"}},
		},
	}
}

type spreadSpec = apps.WorkloadSpreadSpec

var spreadCases = map[string]struct {
	change func(*spreadSpec)
	want   []string
}{
	"valid":     {func(*spreadSpec) {}, nil},
	"no target": {func(s *spreadSpec) { s.TargetRef = nil }, []string{"spec.targetRef: Required"}},
	"target without parts": {
		func(s *spreadSpec) { s.TargetRef = &apps.TargetReference{} },
		[]string{"spec.targetRef.apiVersion: Required", "spec.targetRef.kind: Required", "spec.targetRef.name: Required"},
	},
	"target's version": {func(s *spreadSpec) { s.TargetRef.APIVersion = "a/b/c" }, []string{`spec.targetRef.apiVersion: "a/b/c"`}},

	"filter": {func(s *spreadSpec) {
		s.TargetFilter = &apps.TargetFilter{
			Selector:         &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			ReplicasPathList: []string{"spec.parts.0.replicas"},
		}
	}, nil},
	"filter wrong": {func(s *spreadSpec) {
		s.TargetFilter = &apps.TargetFilter{
			Selector:         &metav1.LabelSelector{MatchLabels: map[string]string{"a": "not valid"}},
			ReplicasPathList: []string{"spec.replicas", "spec..replicas"},
		}
	}, []string{"spec.targetFilter.selector.matchLabels: not valid", "spec.targetFilter.replicasPathList[1]: spec..replicas"}},

	"too many subsets": {func(s *spreadSpec) {
		for i := range 99 {
			s.Subsets = append(s.Subsets, apps.WorkloadSpreadSubset{Name: fmt.Sprint("more-", i)})
		}
	}, []string{"spec.subsets: 101: must have at most 100 items"}},
	"no subsets":          {func(s *spreadSpec) { s.Subsets = nil }, []string{"spec.subsets: Required"}},
	"subset without name": {func(s *spreadSpec) { s.Subsets[0].Name = "" }, []string{"spec.subsets[0].name: Required"}},
	"duplicate names":     {func(s *spreadSpec) { s.Subsets[1].Name = "a" }, []string{`spec.subsets[1].name: Duplicate value: "a"`}},
	"required term": {func(s *spreadSpec) {
		s.Subsets[0].RequiredNodeSelector = near()
	}, []string{`spec.subsets[0].requiredNodeSelector.matchExpressions[0].operator: "Near"`}},
	"preferred terms": {func(s *spreadSpec) {
		s.Subsets[1].PreferredNodeSelector = []corev1.PreferredSchedulingTerm{{Weight: 101, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}},
		}}}
	}, []string{"spec.subsets[1].preferredNodeSelector[0].weight: 101"}},
	"tolerations": {func(s *spreadSpec) {
		s.Subsets[0].Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Value: "b"}}
	}, []string{"spec.subsets[0].tolerations[0].operator: value must be empty"}},

	"limit negative": {func(s *spreadSpec) { s.Subsets[0].MaxReplicas = number(-1) }, []string{"spec.subsets[0].maxReplicas: -1"}},
	"limit no amount": {
		func(s *spreadSpec) { s.Subsets[0].MaxReplicas = text("abc") }, []string{"spec.subsets[0].maxReplicas: abc"},
	},
	"limit no amount beside a number": {
		func(s *spreadSpec) { s.Subsets[0].MaxReplicas, s.Subsets[1].MaxReplicas = text("abc"), number(1) },
		[]string{"spec.subsets[0].maxReplicas: abc"},
	},
	"limits mixed": {
		func(s *spreadSpec) { s.Subsets[1].MaxReplicas = text("50%") },
		[]string{"spec.subsets[1].maxReplicas: cannot be mixed", "spec.subsets: must be 100%"},
	},
	"30 and 70": {func(s *spreadSpec) { percents(s, "30%", "70%") }, nil},
	"thirds":    {func(s *spreadSpec) { percents(s, "33.3%", "66.7%") }, nil},
	"110": {
		func(s *spreadSpec) { percents(s, "50%", "60%") }, []string{`spec.subsets: "110%": the sum of maxReplicas must not be more than 100%`},
	},
	"90 with the last": {
		func(s *spreadSpec) { percents(s, "30%", "60%") }, []string{`spec.subsets: "90%": the sum of maxReplicas must be 100%`},
	},
	"0 with the last": {
		func(s *spreadSpec) { percents(s, "0%", "0%") }, []string{`spec.subsets: "0%": the sum of maxReplicas must be 100%`},
	},
	"30 without the last": {func(s *spreadSpec) { s.Subsets[0].MaxReplicas = text("30%") }, nil},
	"percent of a StatefulSet": {
		func(s *spreadSpec) { s.TargetRef.Kind = "StatefulSet"; percents(s, "50%", "50%") },
		[]string{"spec.subsets[0].maxReplicas: must be an integer", "spec.subsets[1].maxReplicas: must be an integer"},
	},
	"number for a StatefulSet": {func(s *spreadSpec) { s.TargetRef.Kind = "StatefulSet" }, nil},
	"patch": {func(s *spreadSpec) {
		s.Subsets[0].Patch = patch(`{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"x","env":[{"name":"A","value":"B"}]}]}}`)
	}, nil},
	"patch that deletes": {func(s *spreadSpec) {
		s.Subsets[0].Patch = patch(`{"metadata":{"labels":{"a":null}},"spec":{"tolerations":[{"$patch":"replace"}]}}`)
	}, nil},
	"patch of metadata": {
		func(s *spreadSpec) {
			s.Subsets[0].Patch = patch(`{"metadata":{"labels":{"a":null},"annotations":{"b":"c"},"finalizers":["d/e"]}}`)
		}, nil,
	},
	"patch with other metadata": {
		func(s *spreadSpec) {
			s.Subsets[0].Patch = patch(`{"metadata":{"name":"x","namespace":"y","generateName":null,"ownerReferences":[{"uid":"z"}]}}`)
		}, []string{
			"spec.subsets[0].patch.metadata: Forbidden: the patch would change generateName, name, namespace, ownerReferences of Pods",
		},
	},
	"patch that replaces the metadata": {
		func(s *spreadSpec) {
			s.Subsets[0].Patch = patch(`{"metadata":{"$patch":"replace","labels":{"a":"b"}}}`)
		},
		[]string{"spec.subsets[0].patch.metadata: Forbidden"},
	},
	"patch without metadata": {
		func(s *spreadSpec) { s.Subsets[0].Patch = patch(`{"metadata":null}`) }, []string{"spec.subsets[0].patch.metadata: Forbidden"},
	},
	"patch that is a list": {
		func(s *spreadSpec) { s.Subsets[0].Patch = patch(`[1]`) }, []string{"spec.subsets[0].patch: must be a strategic merge patch of a Pod"},
	},
	"patch of another type": {
		func(s *spreadSpec) { s.Subsets[0].Patch = patch(`{"spec":{"priority":"high"}}`) },
		[]string{"spec.subsets[0].patch: must be a strategic merge patch of a Pod"},
	},
	"schedule strategy unknown": {
		func(s *spreadSpec) { s.ScheduleStrategy.Type = "Random" }, []string{`spec.scheduleStrategy.type: "Random"`},
	},
	"Fixed":      {func(s *spreadSpec) { s.ScheduleStrategy.Type = "Fixed" }, nil},
	"adaptive":   {func(s *spreadSpec) { adaptiveSpread(s, 200) }, nil},
	"adaptive 0": {func(s *spreadSpec) { adaptiveSpread(s, 0) }, nil},
	"adaptive without seconds": {
		func(s *spreadSpec) { adaptiveSpread(s, 0); s.ScheduleStrategy.Adaptive.RescheduleCriticalSeconds = nil }, nil,
	},
	"adaptive negative": {
		func(s *spreadSpec) { adaptiveSpread(s, -1) }, []string{"spec.scheduleStrategy.adaptive.rescheduleCriticalSeconds: -1"},
	},
	"adaptive without type": {
		func(s *spreadSpec) { adaptiveSpread(s, 1); s.ScheduleStrategy.Type = "" }, []string{"spec.scheduleStrategy.type: must be Adaptive"},
	},
	"adaptive with a last limit": {func(s *spreadSpec) { adaptiveSpread(s, 1); s.Subsets[1].MaxReplicas = number(1) },
		[]string{"spec.subsets[1].maxReplicas: not allowed in the last subset"}},
	"200 seconds with 3 subsets": {func(s *spreadSpec) {
		s.Subsets = append(s.Subsets, apps.WorkloadSpreadSubset{Name: "c"})
		adaptiveSpread(s, 200)
	}, []string{"spec.scheduleStrategy.adaptive.rescheduleCriticalSeconds: must not be more than 147 with 3 subsets"}},
	"any seconds with 1 subset": {func(s *spreadSpec) { s.Subsets = s.Subsets[:1]; adaptiveSpread(s, 1000) }, nil},
}

func near() *corev1.NodeSelectorTerm {
	return &corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Near"}}}
}

func percents(spec *spreadSpec, first, second string) {
	spec.Subsets[0].MaxReplicas, spec.Subsets[1].MaxReplicas = text(first), text(second)
}

func adaptiveSpread(spec *spreadSpec, seconds int32) {
	spec.ScheduleStrategy = apps.WorkloadSpreadScheduleStrategy{
		Type: "Adaptive", Adaptive: &apps.AdaptiveWorkloadSpreadStrategy{RescheduleCriticalSeconds: &seconds},
	}
}

func patch(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// Cases workloadspread 3, 4, 5, 11, 14a.
func TestWorkloadSpread(t *testing.T) {
	for name, test := range spreadCases {
		changed := func() *apps.WorkloadSpread {
			object := spread()
			test.change(&object.Spec)
			return object
		}
		t.Run("create: "+name, func(t *testing.T) {
			rulestest.Errors(t, test.want, validation.ValidateWorkloadSpread(changed()))
		})
		t.Run("sets: "+name, func(t *testing.T) {
			stored := spread()
			stored.Spec.TargetRef = changed().Spec.TargetRef
			if slices.ContainsFunc(test.want, func(want string) bool { return strings.HasPrefix(want, "spec.targetRef") }) {
				return // an update cannot change it at all
			}
			rulestest.Errors(t, test.want, validation.ValidateWorkloadSpreadUpdate(changed(), stored))
		})
		t.Run("leaves: "+name, func(t *testing.T) {
			rulestest.UpdateOfLabels(t, changed(), changed(), validation.ValidateWorkloadSpreadUpdate)
		})
	}
}

// Case workloadspread 6.
func TestWorkloadSpreadTargetStays(t *testing.T) {
	for name, test := range map[string]struct {
		target apps.TargetReference
		want   []string
	}{
		"version": {apps.TargetReference{APIVersion: "apps/v1beta2", Kind: "Deployment", Name: "web"}, nil},
		"name": {
			apps.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "other"}, []string{"spec.targetRef: targetRef is immutable"},
		},
		"kind": {apps.TargetReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}, []string{"spec.targetRef: targetRef is immutable"}},
		"group": {
			apps.TargetReference{APIVersion: "apps.kruise.io/v1", Kind: "Deployment", Name: "web"}, []string{"spec.targetRef: targetRef is immutable"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			updated := spread()
			updated.Spec.TargetRef = &test.target
			rulestest.Errors(t, test.want, validation.ValidateWorkloadSpreadUpdate(updated, spread()))
		})
	}
	without := spread()
	without.Spec.TargetRef = nil
	rulestest.Errors(t, nil, validation.ValidateWorkloadSpreadUpdate(spread(), without))
	rulestest.Errors(t, []string{"spec.targetRef: Required"}, validation.ValidateWorkloadSpreadUpdate(without, spread()))
}

func TestWorkloadSpreadErrorsInV1alpha1(t *testing.T) {
	object := spread()
	object.Spec.Subsets[1].RequiredNodeSelector = near()
	errs := validation.ValidateWorkloadSpread(object)
	rulestest.Errors(t, []string{"spec.subsets[1].requiredNodeSelectorTerm.matchExpressions[0].operator: "},
		validation.WorkloadSpreadErrorsIn("v1alpha1", errs))
	rulestest.Errors(t, []string{"spec.subsets[1].requiredNodeSelector.matchExpressions[0].operator: "},
		validation.WorkloadSpreadErrorsIn("v1beta1", errs))
}

func TestWorkloadSpreadStatus(t *testing.T) {
	updated := spread()
	bad := []apps.WorkloadSpreadSubsetStatus{{Name: "a", Replicas: -1, MissingReplicas: -2}, {Name: "b", MissingReplicas: -1}}
	updated.Status = apps.WorkloadSpreadStatus{
		ObservedGeneration: -1, SubsetStatuses: bad, VersionedSubsetStatuses: map[string]apps.WorkloadSpreadSubsetStatuses{"hash": bad},
	}
	rulestest.Errors(t, []string{
		"status.observedGeneration: ", "status.subsetStatuses[0].replicas: ", "status.subsetStatuses[0].missingReplicas: ",
		"status.versionedSubsetStatuses[hash][0].replicas: ", "status.versionedSubsetStatuses[hash][0].missingReplicas: ",
	}, validation.ValidateWorkloadSpreadStatusUpdate(updated, spread()))
	require.Empty(t, validation.ValidateWorkloadSpreadStatusUpdate(updated, updated))
}
