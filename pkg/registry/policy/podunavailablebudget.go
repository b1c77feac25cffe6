package policy

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/install"
	"kruise.io/kruise/pkg/apis/policy/v1alpha1"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/policy/validation"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// podUnavailableBudget passes its storage of /status to budgets, by which admission reserves disruptions. It is closed only if budgets
// guard neither deletions nor updates.
func podUnavailableBudget(
	gate featuregate.FeatureGate, budgets *rest.Statuses[policy.PodUnavailableBudget, v1beta1.PodUnavailableBudget],
) rest.AnyKind {
	type budget = policy.PodUnavailableBudget
	return &rest.Kind[*budget]{
		Plural: "podunavailablebudgets", Singular: "podunavailablebudget", Short: []string{"pub"},
		Stored: v1beta1.SchemeGroupVersion, Served: []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion},
		New: func() *budget { return &budget{} }, NewList: func() runtime.Object { return &policy.PodUnavailableBudgetList{} },
		Spec: func(b *budget) any { return &b.Spec }, Status: func(b *budget) any { return &b.Status },
		Controlled: true,
		Exclusive:  true, // Two budgets must not have the same target.
		Closed:     bothOff(gate, features.PodUnavailableBudgetDeleteGate, features.PodUnavailableBudgetUpdateGate),
		Keep:       install.KeepPodUnavailableBudget,
		Default:    install.AgreeOnProtection, Warnings: validation.WarnPodUnavailableBudget,
		Validate: validation.ValidatePodUnavailableBudget, ValidateUpdate: validation.ValidatePodUnavailableBudgetUpdate,
		ValidateStatus: validation.ValidatePodUnavailableBudgetStatusUpdate, Extend: budgets.Open,
		Columns: []rest.Column[*budget]{
			number("Allowed", "Number of Pods that can become unavailable now.", func(b *budget) int32 { return b.Status.UnavailableAllowed }),
			number("Current", "Number of available Pods.", func(b *budget) int32 { return b.Status.CurrentAvailable }),
			number("Desired", "Number of Pods that must stay available.", func(b *budget) int32 { return b.Status.DesiredAvailable }),
			number("Total", "Number of replicas that the budget is calculated from.", func(b *budget) int32 { return b.Status.TotalReplicas }),
		},
	}
}

func number(name, description string, value func(*policy.PodUnavailableBudget) int32) rest.Column[*policy.PodUnavailableBudget] {
	return rest.Column[*policy.PodUnavailableBudget]{
		Name: name, Type: "integer", Description: description,
		Value: func(b *policy.PodUnavailableBudget) any { return int64(value(b)) },
	}
}
