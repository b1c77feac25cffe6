package disruption

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// Total returns the number of replicas that a budget is computed from. It is spec.protectTotalReplicas if that is set, else the
// given number of replicas.
func Total(spec *v1beta1.PodUnavailableBudgetSpec, replicas int32) int32 {
	if spec.ProtectTotalReplicas != nil {
		return *spec.ProtectTotalReplicas
	}
	return replicas
}

// Desired returns how many of total Pods must stay available. Percentages are rounded up, in maxUnavailable as well as in
// minAvailable, as those of a PodDisruptionBudget. It returns an error if the spec sets neither field, or a value that is
// neither a number nor a percentage.
func Desired(spec *v1beta1.PodUnavailableBudgetSpec, total int32) (int32, error) {
	switch {
	case spec.MaxUnavailable != nil:
		most, err := share(spec.MaxUnavailable, total)
		if err != nil {
			return 0, fmt.Errorf("spec.maxUnavailable: %w", err)
		}
		return max(0, total-most), nil
	case spec.MinAvailable != nil:
		least, err := share(spec.MinAvailable, total)
		if err != nil {
			return 0, fmt.Errorf("spec.minAvailable: %w", err)
		}
		return least, nil
	default:
		return 0, fmt.Errorf("spec has neither maxUnavailable nor minAvailable: set one of them")
	}
}

// share resolves a number or a percentage of total, between zero and the largest number of replicas.
func share(value *intstr.IntOrString, total int32) (int32, error) {
	number, err := intstr.GetScaledValueFromIntOrPercent(value, int(total), true)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a number nor a percentage: %w", value.String(), err)
	}
	return int32(min(max(number, 0), maxReplicas)), nil
}

const maxReplicas = 1<<31 - 1
