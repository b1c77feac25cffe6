package policy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func kindWith(t *testing.T, gates map[string]bool) *rest.Kind[*policy.PodUnavailableBudget] {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.SetFromMap(gates))
	kind, ok := podUnavailableBudget(featuregate.FeatureGate(gate), nil).(*rest.Kind[*policy.PodUnavailableBudget])
	require.True(t, ok)
	return kind
}

func TestColumns(t *testing.T) {
	kind := kindWith(t, nil)
	budget := &policy.PodUnavailableBudget{Status: policy.PodUnavailableBudgetStatus{
		UnavailableAllowed: 3, CurrentAvailable: 10, DesiredAvailable: 7, TotalReplicas: 11,
	}}
	var names []string
	var values []any
	for _, column := range kind.Columns {
		assert.Equal(t, "integer", column.Type)
		assert.False(t, column.Wide)
		names, values = append(names, column.Name), append(values, column.Value(budget))
	}
	assert.Equal(t, []string{"Allowed", "Current", "Desired", "Total"}, names)
	assert.Equal(t, []any{int64(3), int64(10), int64(7), int64(11)}, values)
}

// Case podunavailablebudget 29: a budget that nothing enforces cannot be made, and the refusal names both gates.
func TestBudgetsNeedAGate(t *testing.T) {
	const deletes, updates = "PodUnavailableBudgetDeleteGate", "PodUnavailableBudgetUpdateGate"
	tests := map[string]struct {
		gates  map[string]bool
		closed string
	}{
		"defaults":     {nil, ""},
		"updates only": {map[string]bool{deletes: false, updates: true}, ""},
		"neither":      {map[string]bool{deletes: false, updates: false}, deletes + " or " + updates},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.closed, kindWith(t, test.gates).Closed)
		})
	}
}
