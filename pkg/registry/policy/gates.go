package policy

import (
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/features"
)

// protects says what is wrong with budgets while nothing would enforce one.
func protects(gate featuregate.FeatureGate) field.ErrorList {
	if gate.Enabled(features.PodUnavailableBudgetDeleteGate) || gate.Enabled(features.PodUnavailableBudgetUpdateGate) {
		return nil
	}
	message := fmt.Sprintf("budgets protect nothing here: turn on feature gate %s or %s",
		features.PodUnavailableBudgetDeleteGate, features.PodUnavailableBudgetUpdateGate)
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), message)}
}

func onceProtecting(
	gate featuregate.FeatureGate, validate func(*policy.PodUnavailableBudget) field.ErrorList,
) func(*policy.PodUnavailableBudget) field.ErrorList {
	return func(budget *policy.PodUnavailableBudget) field.ErrorList {
		return append(protects(gate), validate(budget)...)
	}
}

// onceProtectingMore lets updates pass that leave the spec alone: finalizers must come off.
func onceProtectingMore(
	gate featuregate.FeatureGate, validate func(budget, old *policy.PodUnavailableBudget) field.ErrorList,
) func(budget, old *policy.PodUnavailableBudget) field.ErrorList {
	return func(budget, old *policy.PodUnavailableBudget) field.ErrorList {
		errs := validate(budget, old)
		if !apiequality.Semantic.DeepEqual(budget.Spec, old.Spec) {
			errs = append(protects(gate), errs...)
		}
		return errs
	}
}
