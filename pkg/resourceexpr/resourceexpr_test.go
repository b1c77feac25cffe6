package resourceexpr_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"kruise.io/kruise/pkg/resourceexpr"
)

func TestValue(t *testing.T) {
	for text, want := range map[string]string{
		"cpu":                              "2",
		"CPU * 50%":                        "1",
		"50 % * cpu":                       "",
		"max(cpu * 50%, 100m)":             "1",
		"min(cpu * 50%, 100m)":             "100m",
		"Min( cpu , max(1, 3) )":           "2",
		"memory / 4 + 128Mi":               "384Mi",
		"memory - 512Mi":                   "512Mi",
		"(cpu + 1) * 2":                    "6",
		"cpu + 1 * 2":                      "4",
		"cpu - 1 - 0.5":                    "500m",
		"cpu / 3":                          "666m",
		"200m":                             "200m",
		"1.5":                              "1500m",
		"1e3 + 1.5E-3":                     "1000001m",
		"cpu * 5e+1%":                      "1",
		"10 / 4":                           "2500m",
		"1k + 1M + 1G + 1T + 1P":           "1001001001001k",
		"1Ki + 1Mi + 1Gi + 1Ti + 1Pi":      "1127000493261824",
		"cpu * 2.5 * 2%":                   "100m",
		"8000P":                            "8E",
		"max(1,2) + min(1,2)":              "3",
		"((((cpu))))":                      "2",
		"2 * cpu":                          "4",
		"cpu * max(1, 2)":                  "4",
		"0 * memory":                       "0",
		"cpu*0.0001":                       "0",
		"min(memory, 1Gi) + max(0, 1) * 0": "1Gi",
	} {
		t.Run(text, func(t *testing.T) {
			variable, amount := "cpu", resource.MustParse("2")
			if strings.Contains(text, "memory") {
				variable, amount = "memory", resource.MustParse("1Gi")
			}
			expression, err := resourceexpr.Parse(text, variable)
			if want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			got, err := expression.Value(amount)
			require.NoError(t, err)
			assert.Zero(t, got.Cmp(resource.MustParse(want)), "%s", got.String())
		})
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "ends where a value is expected",
		"cpu *":                   "ends where a value is expected",
		"cpu * cpu":               "cannot multiply two quantities",
		"cpu + memory":            `"memory" is not a value; use a number, a percentage, a quantity, cpu, max`,
		"2e":                      "neither a number nor a quantity",
		"1e2Mi":                   "read quantity",
		"1e100":                   "exponent of \"1e100\" is too large",
		"cpu * 1Gi":               "cannot multiply two quantities",
		"1 / cpu":                 "cannot divide by a quantity",
		"cpu / 100m":              "cannot divide by a quantity",
		"cpu / 0":                 "division by zero",
		"cpu / (1 - 1)":           "division by zero",
		"1 - 2":                   "negative",
		"-1":                      `"-" is not a value`,
		"disk":                    `"disk" is not a value`,
		"max(cpu)":                "takes two values",
		"max(cpu, 1, 2)":          "takes two values",
		"max cpu":                 `"cpu" where "(" is expected`,
		"(cpu":                    `")" is missing`,
		"cpu)":                    `unexpected ")"`,
		"cpu cpu":                 `unexpected "cpu"`,
		"1.2.3":                   `"1.2.3" is not a number`,
		"1Zi":                     "neither a number nor a quantity",
		"cpu ^ 2":                 `"^" is not part`,
		"cpu × 2":                 `"×" is not part`,
		".":                       `"." is not a number`,
		strings.Repeat("(", 100):  "brackets",
		strings.Repeat("1", 1025): "at most 1024",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := resourceexpr.Parse(text, "cpu")
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestInvalidValues(t *testing.T) {
	expression, err := resourceexpr.Parse("cpu - 2", "cpu")
	require.NoError(t, err, "it depends on the variable")
	_, err = expression.Value(resource.MustParse("1"))
	assert.ErrorContains(t, err, "negative")

	expression, err = resourceexpr.Parse("1000P * 1000000", "cpu")
	require.NoError(t, err)
	_, err = expression.Value(resource.MustParse("1"))
	assert.ErrorContains(t, err, "too large")
}
