package fuzzer

import (
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/v1alpha1"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Funcs are the fuzzing functions of the group.
func Funcs(serializer.CodecFactory) []any {
	return []any{fuzzBudget, fuzzBudgetSpec, fuzzV1alpha1Budget, fuzzV1beta1Budget}
}

// fuzzBudget lets annotations, where there are any, agree with their fields.
func fuzzBudget(budget *policy.PodUnavailableBudget, c randfill.Continue) {
	c.FillNoCustom(budget)
	for _, setting := range policy.Protections() {
		if text := setting.Text(&budget.Spec); text != "" && c.Bool() {
			budget.Annotations = annotation.With(budget.Annotations, setting.Annotation, text)
		}
	}
}

func fuzzBudgetSpec(spec *policy.PodUnavailableBudgetSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.ProtectOperations, spec.ProtectTotalReplicas = nil, nil
	for range c.Intn(4) {
		spec.ProtectOperations = append(spec.ProtectOperations, policy.PubOperations[c.Intn(len(policy.PubOperations))])
	}
	if c.Bool() {
		spec.ProtectTotalReplicas = new(1 + c.Int31n(1000))
	}
}

// fuzzV1beta1Budget takes the hub's values: v1beta1 has its shape.
func fuzzV1beta1Budget(budget *v1beta1.PodUnavailableBudget, c randfill.Continue) {
	hub := &policy.PodUnavailableBudget{}
	c.Fill(hub)
	if err := v1beta1.Convert_policy_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget(hub, budget, nil); err != nil {
		c.FillNoCustom(budget)
	}
}

// fuzzV1alpha1Budget adds the annotations that say what the hub has fields for: texts that are
// values, that are values written unusually, and that are none.
func fuzzV1alpha1Budget(budget *v1alpha1.PodUnavailableBudget, c randfill.Continue) {
	c.FillNoCustom(budget)
	for key, texts := range map[string][]string{
		pub.PubProtectOperationsKey:    {"DELETE", "UPDATE,EVICT,RESIZE", "DELETE,DELETE", "DELETE, EVICT", "delete", "", ","},
		pub.PubProtectTotalReplicasKey: {"15", "007", "0", "-1", "abc", "", "99999999999"},
	} {
		if c.Bool() {
			budget.Annotations = annotation.With(budget.Annotations, key, texts[c.Intn(len(texts))])
		}
	}
}
