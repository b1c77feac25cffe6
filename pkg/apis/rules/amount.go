package rules

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var percentage = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9})?%$`)

const amountMessage = `must be a non-negative number such as 5, or a percentage such as "20%"`

// Amount checks a number of Pods or a percentage of them. Percentages may have
// decimals, and may be more than 100.
func Amount(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	if _, ok := Resolve(value, 1); !ok {
		return field.ErrorList{field.Invalid(path, value.String(), amountMessage)}
	}
	return nil
}

// Resolve returns the number of Pods for an amount, rounded up. It returns false if the value is invalid.
func Resolve(value *intstr.IntOrString, replicas int32) (float64, bool) {
	if value.Type == intstr.Int {
		return float64(value.IntVal), value.IntVal >= 0
	}
	if !percentage.MatchString(value.StrVal) {
		return 0, false
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(value.StrVal, "%"), 64)
	return math.Ceil(percent * float64(replicas) / 100), err == nil
}

// NotNegative checks a number of anything.
func NotNegative(value int64, path *field.Path) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(value, path)
}
