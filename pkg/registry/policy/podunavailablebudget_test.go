package policy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
	kind, ok := podUnavailableBudget(featuregate.FeatureGate(gate)).(*rest.Kind[*policy.PodUnavailableBudget])
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

// Row 29: a budget that nothing enforces cannot be made, and what is there can still be cleaned up.
func TestBudgetsNeedAGate(t *testing.T) {
	const deletes, updates = "PodUnavailableBudgetDeleteGate", "PodUnavailableBudgetUpdateGate"
	tests := map[string]struct {
		gates   map[string]bool
		refused bool
	}{
		"defaults":     {nil, false},
		"updates only": {map[string]bool{deletes: false, updates: true}, false},
		"neither":      {map[string]bool{deletes: false, updates: false}, true},
	}
	budget := &policy.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1"},
		Spec: policy.PodUnavailableBudgetSpec{
			TargetRef:      &policy.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "demo"},
			MaxUnavailable: new(intstr.FromInt32(1)),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kind := kindWith(t, test.gates)
			changed, released := budget.DeepCopy(), budget.DeepCopy()
			changed.Spec.MaxUnavailable = new(intstr.FromInt32(2))
			released.Finalizers = nil
			if !test.refused {
				assert.Empty(t, kind.Validate(budget))
				assert.Empty(t, kind.ValidateUpdate(changed, budget))
				return
			}
			for _, errs := range []string{kind.Validate(budget).ToAggregate().Error(), kind.ValidateUpdate(changed, budget).ToAggregate().Error()} {
				assert.Contains(t, errs, deletes)
				assert.Contains(t, errs, updates)
			}
			assert.Empty(t, kind.ValidateUpdate(released, budget))
		})
	}
}
