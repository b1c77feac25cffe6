package spread

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestPathsLeadToNumbers(t *testing.T) {
	content := map[string]any{"spec": map[string]any{"parts": []any{map[string]any{"replicas": int64(3)}, map[string]any{"replicas": 2.0}}, "name": "x"}}
	for path, want := range map[string]int{
		"spec.parts.0.replicas": 3, "spec.parts.1.replicas": 2, "spec.parts.2.replicas": 0, "spec.parts.-1.replicas": 0, "spec.parts.x": 0,
		"spec.name": 0, "spec.name.more": 0, "": 0, "spec": 0,
	} {
		assert.Equal(t, want, Sum(content, []string{path}), path)
	}
	assert.Equal(t, 5, Sum(content, []string{"spec.parts.0.replicas", "spec.parts.1.replicas"}))
}

func TestReplicasOfAWorkloadWithoutThemAreOne(t *testing.T) {
	spread := &v1beta1.WorkloadSpread{}
	assert.Equal(t, 1, Total(spread, &batchv1.Job{}))
	assert.Equal(t, 1, Total(spread, &v1beta1.CloneSet{}))
	spread.Spec.TargetFilter = &v1beta1.TargetFilter{ReplicasPathList: []string{"spec.replicas"}}
	assert.Equal(t, 4, Total(spread, &v1beta1.CloneSet{Spec: v1beta1.CloneSetSpec{Replicas: new(int32(4))}}))
}

func TestPercentagesAreRoundedUp(t *testing.T) {
	assert.Equal(t, 2, Limit(new(intstr.FromString("50%")), 3))
	assert.Equal(t, 3, Limit(new(intstr.FromString("33.3%")), 9), "validation accepts decimals")
	assert.Zero(t, Limit(new(intstr.FromString("50%")), 0))
	assert.Zero(t, Limit(new(intstr.FromString("half")), 4))
}

func TestEntryOfACustomWorkloadDoesNotDependOnItsVersion(t *testing.T) {
	kind := schema.GroupKind{Group: "example.com", Kind: "Game"}
	entry, err := CustomIn(`{"workloads":[{"Group":"example.com","Version":"v3","Kind":"Game","subResources":[{"Group":"example.com","Kind":"Role"}]}]}`, kind)
	require.NoError(t, err)
	assert.True(t, entry.Between(schema.GroupKind{Group: "example.com", Kind: "Role"}))
	assert.False(t, entry.Between(kind))
	entry, err = CustomIn("", kind)
	require.NoError(t, err)
	assert.False(t, entry.Between(kind))
	_, err = CustomIn("{", kind)
	assert.Error(t, err)
}

// Percentages are rounded up, so they leave no Pod without a slot.
func TestOverflowIsWhatAllLimitsLeaveOut(t *testing.T) {
	limit := func(value string) *intstr.IntOrString { return new(intstr.Parse(value)) }
	for name, tc := range map[string]struct {
		limits []*intstr.IntOrString
		want   int
	}{
		"numbers":             {[]*intstr.IntOrString{limit("2"), limit("3")}, 5},
		"more room than Pods": {[]*intstr.IntOrString{limit("20")}, 0},
		"no limit":            {[]*intstr.IntOrString{limit("2"), nil}, 0},
		"percentages":         {[]*intstr.IntOrString{limit("33%"), limit("67%")}, 0},
	} {
		spread := &v1beta1.WorkloadSpread{}
		for _, limit := range tc.limits {
			spread.Spec.Subsets = append(spread.Spec.Subsets, v1beta1.WorkloadSpreadSubset{MaxReplicas: limit})
		}
		assert.Equal(t, tc.want, Overflow(spread, 10), name)
	}
}
