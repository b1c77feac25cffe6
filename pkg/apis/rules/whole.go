package rules

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var wholePercentage = regexp.MustCompile(`^[0-9]{1,9}%$`)

// WholeAmount checks a number or a percentage of the kinds that, like core's, know no decimals.
func WholeAmount(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	if value == nil || value.Type == intstr.Int && value.IntVal >= 0 || wholePercentage.MatchString(value.StrVal) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(),
		`must be a non-negative integer such as 5, or a percentage such as "20%" without decimals`)}
}
