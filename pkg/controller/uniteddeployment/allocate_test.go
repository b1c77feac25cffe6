package uniteddeployment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func text(value string) *intstr.IntOrString  { return new(intstr.FromString(value)) }
func number(value int32) *intstr.IntOrString { return new(intstr.FromInt32(value)) }

// topology returns subsets a, b, c and so on.
func topology(subsets ...v1beta1.Subset) *v1beta1.Topology {
	for i := range subsets {
		subsets[i].Name = string(rune('a' + i))
	}
	return &v1beta1.Topology{Subsets: subsets}
}

// Cases uniteddeployment 1, 2, 3, 4.
func TestFixedShares(t *testing.T) {
	of := func(replicas *intstr.IntOrString) v1beta1.Subset { return v1beta1.Subset{Replicas: replicas} }
	for name, test := range map[string]struct {
		total   int32
		subsets []v1beta1.Subset
		current []int32
		want    []int32
		err     string
	}{
		"evenly, the last first":    {5, []v1beta1.Subset{of(nil), of(nil)}, nil, []int32{2, 3}, ""},
		"the largest keeps its Pod": {5, []v1beta1.Subset{of(nil), of(nil)}, []int32{3, 2}, []int32{3, 2}, ""},
		"one more":                  {6, []v1beta1.Subset{of(nil), of(nil)}, []int32{2, 3}, []int32{3, 3}, ""},
		"a percentage":              {10, []v1beta1.Subset{of(text("30%")), of(nil)}, nil, []int32{3, 7}, ""},
		"half is rounded up":        {10, []v1beta1.Subset{of(text("35%")), of(text("25%")), of(nil)}, nil, []int32{4, 3, 3}, ""},
		"more than all":             {4, []v1beta1.Subset{of(number(5)), of(nil)}, nil, nil, "5 together"},
		"fewer than all":            {4, []v1beta1.Subset{of(number(1)), of(number(2))}, nil, nil, "3 together"},
		"all fixed":                 {3, []v1beta1.Subset{of(number(1)), of(number(2))}, nil, []int32{1, 2}, ""},
		"three share the rest":      {7, []v1beta1.Subset{of(number(2)), of(nil), of(nil), of(nil)}, nil, []int32{2, 1, 2, 2}, ""},
		"none":                      {0, []v1beta1.Subset{of(nil), of(nil)}, []int32{1, 1}, []int32{0, 0}, ""},
		"no percentage":             {4, []v1beta1.Subset{of(text("30"))}, nil, nil, "invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			shares, bounds, err := sharesOf(topology(test.subsets...), test.total)
			assert.False(t, bounds)
			for i := range test.current {
				shares[i].current = test.current[i]
			}
			var got []int32
			if err == nil {
				got, err = fixed(test.total, shares)
			}
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

// Case uniteddeployment 18.
func TestBoundedShares(t *testing.T) {
	of := func(lower, upper *intstr.IntOrString) v1beta1.Subset {
		return v1beta1.Subset{MinReplicas: lower, MaxReplicas: upper}
	}
	for name, test := range map[string]struct {
		total   int32
		subsets []v1beta1.Subset
		want    []int32
	}{
		"minimum first, then the order": {5, []v1beta1.Subset{of(number(2), number(4)), of(number(2), nil)}, []int32{3, 2}},
		"less than the minimums":        {1, []v1beta1.Subset{of(number(1), nil), of(number(1), nil), of(number(1), nil)}, []int32{1, 0, 0}},
		"the maximum is reached":        {9, []v1beta1.Subset{of(number(2), number(4)), of(number(2), nil)}, []int32{4, 5}},
		"percentages":                   {10, []v1beta1.Subset{of(text("20%"), text("50%")), of(text("20%"), nil)}, []int32{5, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			shares, bounds, err := sharesOf(topology(test.subsets...), test.total)
			require.NoError(t, err)
			assert.True(t, bounds)
			assert.Equal(t, test.want, bounded(test.total, shares))
		})
	}
}

// Case uniteddeployment 19.
func TestAdaptiveShares(t *testing.T) {
	const sick = true
	of := func(lower, upper, ready int32, unschedulable bool) share {
		if upper == 0 {
			upper = unlimited
		}
		return share{min: lower, max: upper, ready: ready, unschedulable: unschedulable}
	}
	for name, test := range map[string]struct {
		total  int32
		shares []share
		want   []int32
	}{
		"three":                          {3, []share{of(0, 2, 2, false), of(0, 2, 0, sick), of(0, 0, 0, false)}, []int32{2, 0, 1}},
		"five":                           {5, []share{of(0, 2, 2, false), of(0, 2, 0, sick), of(0, 0, 1, false)}, []int32{2, 0, 3}},
		"four again":                     {4, []share{of(0, 2, 2, false), of(0, 2, 0, sick), of(0, 0, 3, false)}, []int32{2, 0, 2}},
		"recovered, nothing moves":       {4, []share{of(0, 2, 2, false), of(0, 2, 0, false), of(0, 0, 2, false)}, []int32{2, 0, 2}},
		"recovered, grows":               {5, []share{of(0, 2, 2, false), of(0, 2, 0, false), of(0, 0, 2, false)}, []int32{2, 1, 2}},
		"not ready yet, shrinks":         {4, []share{of(0, 2, 2, false), of(0, 2, 0, false), of(0, 0, 2, false)}, []int32{2, 0, 2}},
		"all ready, shrinks":             {3, []share{of(0, 2, 2, false), of(0, 2, 2, false), of(0, 0, 2, false)}, []int32{2, 1, 0}},
		"all ready, five":                {5, []share{of(0, 2, 2, false), of(0, 2, 2, false), of(0, 0, 2, false)}, []int32{2, 2, 1}},
		"minimum above what is ready":    {3, []share{of(1, 2, 0, sick), of(0, 0, 0, false)}, []int32{1, 2}},
		"minimum above ready, four":      {4, []share{of(1, 2, 0, sick), of(0, 0, 2, false)}, []int32{1, 3}},
		"repaired, three":                {3, []share{of(1, 2, 1, false), of(0, 0, 3, false)}, []int32{1, 2}},
		"repaired, five":                 {5, []share{of(1, 2, 1, false), of(0, 0, 2, false)}, []int32{2, 3}},
		"repaired, four":                 {4, []share{of(1, 2, 2, false), of(0, 0, 3, false)}, []int32{2, 2}},
		"repaired, one":                  {1, []share{of(1, 2, 2, false), of(0, 0, 1, false)}, []int32{1, 0}},
		"only what is ready stays":       {2, []share{of(0, 0, 0, false), of(0, 4, 2, sick)}, []int32{0, 2}},
		"an unschedulable one keeps two": {5, []share{of(0, 4, 2, sick), of(0, 0, 0, false)}, []int32{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, bounded(test.total, adapted(test.shares)))
		})
	}
}

// Case uniteddeployment 21.
func TestReservedShares(t *testing.T) {
	of := func(lower, current, reserved int32, marked bool) share {
		return share{min: lower, max: unlimited, current: current, reserved: reserved, marked: marked}
	}
	for name, test := range map[string]struct {
		total  int32
		shares []share
		want   []int32
	}{
		"new":                   {2, []share{of(0, 0, 0, false), of(0, 0, 0, false), of(0, 0, 0, false)}, []int32{2, 0, 0}},
		"one is reserved":       {2, []share{of(0, 2, 2, false), of(0, 0, 0, false), of(0, 0, 0, false)}, []int32{2, 2, 0}},
		"two are reserved":      {2, []share{of(0, 2, 2, true), of(0, 2, 2, false), of(0, 0, 0, false)}, []int32{2, 2, 2}},
		"grows":                 {4, []share{of(0, 2, 2, true), of(0, 2, 2, true), of(0, 2, 0, false)}, []int32{2, 2, 4}},
		"shrinks":               {2, []share{of(0, 2, 2, true), of(0, 2, 2, true), of(0, 4, 0, false)}, []int32{2, 2, 2}},
		"the first recovered":   {4, []share{of(0, 2, 0, true), of(0, 2, 2, true), of(0, 4, 0, false)}, []int32{4, 2, 2}},
		"its growth is proven":  {4, []share{of(0, 4, 0, true), of(0, 2, 2, true), of(0, 2, 0, false)}, []int32{4, 0, 0}},
		"minimum":               {2, []share{of(1, 1, 1, true), of(1, 1, 1, true), of(0, 2, 0, false)}, []int32{1, 1, 2}},
		"minimum, grows":        {4, []share{of(1, 1, 1, true), of(1, 1, 1, true), of(0, 2, 0, false)}, []int32{1, 1, 4}},
		"minimum, recovered":    {4, []share{of(1, 1, 0, true), of(1, 1, 1, true), of(0, 4, 0, false)}, []int32{4, 1, 3}},
		"minimum, growth shown": {4, []share{of(1, 4, 0, true), of(1, 1, 1, true), of(0, 3, 0, false)}, []int32{4, 1, 0}},
		"fine again":            {5, []share{of(0, 4, 0, false), of(0, 0, 0, false), of(0, 0, 0, false)}, []int32{5, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, reserving(test.total, test.shares))
		})
	}
}

// Case uniteddeployment 6.
func TestPartitionsAreAtMostTheReplicas(t *testing.T) {
	u := &v1beta1.UnitedDeployment{}
	assert.EqualValues(t, 0, partitionOf(u, "a", 5))
	u.Spec.UpdateStrategy.ManualUpdate = &v1beta1.ManualUpdate{Partitions: map[string]int32{"a": 2, "b": 9}}
	assert.EqualValues(t, 2, partitionOf(u, "a", 5))
	assert.EqualValues(t, 5, partitionOf(u, "b", 5))
	assert.EqualValues(t, 0, partitionOf(u, "c", 5))
}
