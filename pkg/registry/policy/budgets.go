package policy

import (
	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/registry/rest"
)

const budgetResource = "podunavailablebudgets"

// NewBudgets returns the writer of the status of budgets for admission. Its store is not open yet.
func NewBudgets() *rest.Statuses[policy.PodUnavailableBudget, v1beta1.PodUnavailableBudget] {
	return rest.NewStatuses(v1beta1.SchemeGroupVersion.WithResource(budgetResource),
		v1beta1.Convert_policy_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget,
		func(from *v1beta1.PodUnavailableBudget, to *policy.PodUnavailableBudget) error {
			return v1beta1.Convert_v1beta1_PodUnavailableBudgetStatus_To_policy_PodUnavailableBudgetStatus(&from.Status, &to.Status, nil)
		})
}
