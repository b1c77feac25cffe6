package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

const (
	operationsKey = "metadata.annotations[" + pub.PubProtectOperationsKey + "]"
	totalKey      = "metadata.annotations[" + pub.PubProtectTotalReplicasKey + "]"
)

func valid() *policy.PodUnavailableBudget {
	return &policy.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: policy.PodUnavailableBudgetSpec{
			TargetRef:      &policy.TargetReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "demo"},
			MaxUnavailable: text("30%"),
		},
	}
}

func number(value int32) *intstr.IntOrString { return new(intstr.FromInt32(value)) }
func text(value string) *intstr.IntOrString  { return new(intstr.FromString(value)) }

func matching(labels map[string]string, requirements ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels, MatchExpressions: requirements}
}

type change func(budget *policy.PodUnavailableBudget, spec *policy.PodUnavailableBudgetSpec)

func annotated(key, value string) change {
	return func(b *policy.PodUnavailableBudget, _ *policy.PodUnavailableBudgetSpec) {
		b.Annotations = map[string]string{key: value}
	}
}

// cases are the rules: a change to a valid budget and the errors that it must bring.
var cases = map[string]struct {
	change change
	want   []string
}{
	"valid": {},
	"selector": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		s.TargetRef, s.Selector = nil, matching(map[string]string{"app": "demo"})
	}},
	"neither selector nor targetRef": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) { s.TargetRef = nil },
		[]string{"spec: no selector or targetRef defined"},
	},
	"both selector and targetRef": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.Selector = matching(map[string]string{"app": "demo"})
		},
		[]string{"spec: selector and targetRef are mutually exclusive"},
	},
	"empty selector": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.TargetRef, s.Selector = nil, &metav1.LabelSelector{}
		},
		[]string{"spec.selector: Required"},
	},
	"selector that is none": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.TargetRef, s.Selector = nil, matching(nil, metav1.LabelSelectorRequirement{Key: "app", Operator: "Near"})
		},
		[]string{`spec.selector.matchExpressions[0].operator: "Near"`},
	},
	"empty targetRef": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.TargetRef = &policy.TargetReference{}
		},
		[]string{
			"spec.targetRef.apiVersion: empty targetRef is not valid", "spec.targetRef.kind: empty targetRef is not valid",
			"spec.targetRef.name: empty targetRef is not valid",
		},
	},
	"apiVersion that is none": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.TargetRef.APIVersion = "a/b/c"
		},
		[]string{`spec.targetRef.apiVersion: "a/b/c"`},
	},
	"neither bound": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) { s.MaxUnavailable = nil },
		[]string{"spec: no maxUnavailable or minAvailable defined"},
	},
	"both bounds": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) { s.MinAvailable = number(1) },
		[]string{"spec: maxUnavailable and minAvailable are mutually exclusive"},
	},
	"101%": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.MaxUnavailable = text("101%")
		},
		[]string{`spec.maxUnavailable: "101%"`},
	},
	"-1": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.MaxUnavailable, s.MinAvailable = nil, number(-1)
		},
		[]string{`spec.minAvailable: "-1"`},
	},
	"no percentage": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) { s.MaxUnavailable = text("5") },
		[]string{`spec.maxUnavailable: "5"`},
	},
	"100%": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		s.MaxUnavailable = text("100%")
	}},
	"0": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) { s.MaxUnavailable = number(0) }},
	"0%": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		s.MaxUnavailable = text("0%")
	}},
	"minAvailable beyond any total": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		s.MaxUnavailable, s.MinAvailable = nil, number(100000)
	}},

	"operations": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		s.ProtectOperations = []policy.PubOperation{"DELETE", "UPDATE", "EVICT", "RESIZE"}
	}},
	"operation that is none": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.ProtectOperations = []policy.PubOperation{"DELETE", "CREATE"}
		},
		[]string{`spec.protectOperations[1]: "CREATE": supported values: "DELETE", "UPDATE", "EVICT", "RESIZE"`},
	},
	"total": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		s.ProtectTotalReplicas = ptr.To[int32](1)
	}},
	"total below one": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.ProtectTotalReplicas = ptr.To[int32](0)
		},
		[]string{"spec.protectTotalReplicas: 0"},
	},
	"ignored Pods": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		s.IgnoredPodSelector = matching(map[string]string{"a": "b"})
	}},
	"empty selector of ignored Pods": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.IgnoredPodSelector = &metav1.LabelSelector{}
		},
		[]string{"spec.ignoredPodSelector: Required"},
	},
	"sick Pods": {change: func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		s.UnhealthyPodEvictionPolicy = new(policy.IfHealthyBudget)
	}},
	"sick Pods otherwise": {
		func(_ *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			s.UnhealthyPodEvictionPolicy = new(policy.UnhealthyPodEvictionPolicyType("Never"))
		},
		[]string{`spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"`},
	},

	"annotated operations":           {change: annotated(pub.PubProtectOperationsKey, "DELETE,EVICT")},
	"annotated RESIZE":               {change: annotated(pub.PubProtectOperationsKey, "RESIZE")},
	"annotated operation is none":    {annotated(pub.PubProtectOperationsKey, "DELETE,CREATE"), []string{operationsKey + ": is invalid"}},
	"annotated operation is empty":   {annotated(pub.PubProtectOperationsKey, ""), []string{operationsKey + ": is invalid"}},
	"annotated operation and blank":  {annotated(pub.PubProtectOperationsKey, "DELETE, EVICT"), []string{operationsKey + ": is invalid"}},
	"annotated total":                {change: annotated(pub.PubProtectTotalReplicasKey, "15")},
	"annotated total 0":              {change: annotated(pub.PubProtectTotalReplicasKey, "0")},
	"annotated total is none":        {annotated(pub.PubProtectTotalReplicasKey, "many"), []string{totalKey + ": is invalid"}},
	"annotated total beyond 32 bits": {annotated(pub.PubProtectTotalReplicasKey, "2147483648"), []string{totalKey + ": is invalid"}},
	"annotation and field agree": {change: func(b *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
		annotated(pub.PubProtectTotalReplicasKey, "015")(b, s)
		s.ProtectTotalReplicas = ptr.To[int32](15)
	}},
	"annotation and field differ": {
		func(b *policy.PodUnavailableBudget, s *policy.PodUnavailableBudgetSpec) {
			annotated(pub.PubProtectTotalReplicasKey, "15")(b, s)
			s.ProtectTotalReplicas = ptr.To[int32](16)
		},
		[]string{totalKey + ": spec.protectTotalReplicas is 16, and the two must be equal"},
	},
}

func changed(apply change) *policy.PodUnavailableBudget {
	budget := valid()
	if apply != nil {
		apply(budget, &budget.Spec)
	}
	return budget
}

// Cases podunavailablebudget 16, 22.
func TestCreate(t *testing.T) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			rulestest.Create(t, changed(test.change), validation.ValidatePodUnavailableBudget, test.want)
		})
	}
}

// An update that leaves a wrong value alone is not refused for it.
func TestUpdateLeavesMistakes(t *testing.T) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			rulestest.UpdateOfLabels(t, changed(test.change), changed(test.change), validation.ValidatePodUnavailableBudgetUpdate)
		})
	}
}

func TestUpdateMakesMistakes(t *testing.T) {
	budget := valid()
	budget.Spec.MaxUnavailable = text("101%")
	rulestest.Errors(t, []string{`spec.maxUnavailable: "101%"`}, validation.ValidatePodUnavailableBudgetUpdate(budget, valid()))
}

// Case podunavailablebudget 20: what a budget protects never changes; how much of it may.
func TestProtectedPodsCannotBeChanged(t *testing.T) {
	bySelector := func(value string) *policy.PodUnavailableBudget {
		budget := valid()
		budget.Spec.TargetRef, budget.Spec.Selector = nil, matching(map[string]string{"app": value})
		return budget
	}
	rulestest.Errors(t, []string{"spec.selector: cannot be modified"}, validation.ValidatePodUnavailableBudgetUpdate(bySelector("a"), bySelector("b")))

	other := valid()
	other.Spec.TargetRef.APIVersion = "apps.kruise.io/v1beta1"
	rulestest.Errors(t, []string{"spec.targetRef: cannot be modified"}, validation.ValidatePodUnavailableBudgetUpdate(other, valid()))

	bounds := valid()
	bounds.Spec.MaxUnavailable, bounds.Spec.MinAvailable = nil, number(2)
	bounds.Spec.ProtectOperations = []policy.PubOperation{"DELETE"}
	rulestest.Errors(t, nil, validation.ValidatePodUnavailableBudgetUpdate(bounds, valid()))
}

func TestName(t *testing.T) {
	budget := valid()
	budget.Name = "Not_DNS"
	rulestest.Errors(t, []string{`metadata.name: "Not_DNS"`}, validation.ValidatePodUnavailableBudget(budget))
}

func TestStatus(t *testing.T) {
	budget := valid()
	budget.Status = policy.PodUnavailableBudgetStatus{DisruptedPods: map[string]metav1.Time{"web-0": {}}, TotalReplicas: 3}
	rulestest.Errors(t, nil, validation.ValidatePodUnavailableBudgetStatusUpdate(budget, valid()))
	budget.Status = policy.PodUnavailableBudgetStatus{
		ObservedGeneration: -1, UnavailableAllowed: -1, CurrentAvailable: -1, DesiredAvailable: -1, TotalReplicas: -1,
		DisruptedPods: map[string]metav1.Time{"Not_DNS": {}}, UnavailablePods: map[string]metav1.Time{"Not_DNS": {}},
	}
	rulestest.Errors(t, []string{
		"status.observedGeneration: -1", "status.unavailableAllowed: -1", "status.currentAvailable: -1", "status.desiredAvailable: -1",
		"status.totalReplicas: -1", "status.disruptedPods[Not_DNS]: Not_DNS", "status.unavailablePods[Not_DNS]: Not_DNS",
	}, validation.ValidatePodUnavailableBudgetStatusUpdate(budget, valid()))
}

func TestWarnings(t *testing.T) {
	zero := changed(annotated(pub.PubProtectTotalReplicasKey, "0"))
	require.Equal(t, []string{totalKey + ": 0 has no effect; use 1 or more"}, validation.WarnPodUnavailableBudget(t.Context(), zero, nil))
	require.Empty(t, validation.WarnPodUnavailableBudget(t.Context(), zero, zero), "said already")
	require.Len(t, validation.WarnPodUnavailableBudget(t.Context(), zero, valid()), 1, "set by the update")
	require.Empty(t, validation.WarnPodUnavailableBudget(t.Context(), valid(), nil))
	require.Empty(t, validation.WarnPodUnavailableBudget(t.Context(), changed(annotated(pub.PubProtectTotalReplicasKey, "many")), nil),
		"validation refuses it")
	require.Empty(t, validation.WarnPodUnavailableBudget(t.Context(), changed(annotated(pub.PubProtectTotalReplicasKey, "1")), nil))
}
