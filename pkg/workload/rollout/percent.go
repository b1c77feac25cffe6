package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// rounding rounds the fraction of a percentage. Numbers are never rounded.
type rounding func(float64) float64

// scaled resolves a number or a percentage of total. Decimal percentages such as "0.5%" are allowed. It returns absent for nil.
// The result is not limited to total.
func scaled(value *intstr.IntOrString, total int, absent int, round rounding) (int, error) {
	if value == nil {
		return absent, nil
	}
	if value.Type == intstr.Int {
		return value.IntValue(), nil
	}
	percent, err := parsePercent(value.StrVal)
	if err != nil {
		return 0, err
	}
	return int(round(nearInteger(percent * float64(total) / 100))), nil
}

// parsePercent returns the number of a percentage. A text without "%" is no percentage, so "30" is refused.
func parsePercent(text string) (float64, error) {
	digits, found := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(digits, 64)
	if !found || err != nil || percent < 0 || math.IsInf(percent, 0) || math.IsNaN(percent) {
		return 0, fmt.Errorf("invalid value %q: write an integer, or a percentage such as \"20%%\"", text)
	}
	return percent, nil
}

// nearInteger removes rounding errors of binary fractions: 29 percent of 100 is 29, not 29.000000000000004.
func nearInteger(v float64) float64 {
	if nearest := math.Round(v); math.Abs(v-nearest) < 1e-9 {
		return nearest
	}
	return v
}

// Partition returns how many of the replicas stay at the current revision. If there is more than one replica, a percentage below
// 100% always leaves at least one of them to update.
func Partition(value *intstr.IntOrString, replicas int) (int, error) {
	partition, err := scaled(value, replicas, 0, math.Ceil)
	if err != nil {
		return 0, fmt.Errorf("resolve partition: %w", err)
	}
	if value != nil && value.Type == intstr.String && replicas > 1 && partition == replicas && value.StrVal != "100%" {
		partition = replicas - 1
	}
	return max(0, min(partition, replicas)), nil
}

// DaemonSetPartition returns on how many of the nodes the Pods stay at the current revision. A percentage is rounded down, as Kubernetes
// does with the other numbers of a DaemonSet.
func DaemonSetPartition(value *intstr.IntOrString, nodes int) (int, error) {
	partition, err := UnlimitedDaemonSetPartition(value, nodes)
	return min(partition, nodes), err
}

// UnlimitedDaemonSetPartition is DaemonSetPartition without the limit of nodes. A rollout also updates Pods on nodes that no longer need
// one, so an integer can keep more Pods than there are nodes. 100% keeps all Pods.
func UnlimitedDaemonSetPartition(value *intstr.IntOrString, nodes int) (int, error) {
	partition, err := RoundedDown(value, nodes, 0)
	if err != nil {
		return 0, fmt.Errorf("resolve partition: %w", err)
	}
	if value != nil && value.Type == intstr.String && value.StrVal == "100%" {
		return math.MaxInt, nil
	}
	return max(0, partition), nil
}

// MaxUnavailable returns how many Pods may be unavailable at once, rounded down. The default is 20% of the replicas.
func MaxUnavailable(value *intstr.IntOrString, replicas int) (int, error) {
	if value == nil {
		value = new(intstr.FromString("20%"))
	}
	resolved, err := scaled(value, replicas, 0, math.Floor)
	if err != nil {
		return 0, fmt.Errorf("resolve maxUnavailable: %w", err)
	}
	return resolved, nil
}

// RoundedUp returns a number, or a percentage of total, rounded up. It returns absent if there is no value.
func RoundedUp(value *intstr.IntOrString, total, absent int) (int, error) {
	return scaled(value, total, absent, math.Ceil)
}

// RoundedDown returns a number, or a percentage of total, rounded down. It returns absent if there is no value.
func RoundedDown(value *intstr.IntOrString, total, absent int) (int, error) {
	return scaled(value, total, absent, math.Floor)
}

// Rounded returns a number, or a percentage of total, rounded to the nearest integer. Half is rounded up. It returns absent if there
// is no value.
func Rounded(value *intstr.IntOrString, total, absent int) (int, error) {
	return scaled(value, total, absent, math.Round)
}
