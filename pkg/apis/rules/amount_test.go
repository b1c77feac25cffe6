package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/rules"
)

// An amount of 200 Pods, and whether it can be one without decimals.
func TestAmounts(t *testing.T) {
	number := func(value int32) *intstr.IntOrString { return new(intstr.FromInt32(value)) }
	text := func(value string) *intstr.IntOrString { return new(intstr.FromString(value)) }
	for name, test := range map[string]struct {
		value         *intstr.IntOrString
		pods          float64
		amount, whole bool
	}{
		"unset":                 {nil, 0, true, true},
		"a number":              {number(7), 7, true, true},
		"0":                     {number(0), 0, true, true},
		"a negative number":     {number(-1), -1, false, false},
		"a percentage":          {text("20%"), 40, true, true},
		"rounded up":            {text("1.6%"), 4, true, false},
		"more than all":         {text("150%"), 300, true, true},
		"a number as text":      {text("20"), 0, false, false},
		"a negative percents":   {text("-20%"), 0, false, false},
		"a word":                {text("many"), 0, false, false},
		"an empty text":         {text(""), 0, false, false},
		"too many digits":       {text("1234567890%"), 0, false, false},
		"too many decimals":     {text("1.1234567890%"), 0, false, false},
		"a percentage and more": {text("20%%"), 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := field.NewPath("spec", "pace")
			for _, judged := range []struct {
				errs    field.ErrorList
				allowed bool
			}{{rules.Amount(test.value, path), test.amount}, {rules.WholeAmount(test.value, path), test.whole}} {
				if judged.allowed {
					assert.Empty(t, judged.errs)
					continue
				}
				assert.Len(t, judged.errs, 1)
				assert.ErrorContains(t, judged.errs.ToAggregate(), `spec.pace: Invalid value: "`+test.value.String()+`": must be a non-negative`)
			}
			if test.value != nil {
				pods, ok := rules.Resolve(test.value, 200)
				assert.Equal(t, test.amount, ok)
				assert.InDelta(t, test.pods, pods, 0)
			}
		})
	}
}

func TestNotNegative(t *testing.T) {
	path := field.NewPath("spec", "replicas")
	assert.Empty(t, rules.NotNegative(0, path))
	assert.ErrorContains(t, rules.NotNegative(-1, path).ToAggregate(), "spec.replicas: Invalid value: -1: must be greater than or equal to 0")
}
