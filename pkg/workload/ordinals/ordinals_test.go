package ordinals

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestInRange(t *testing.T) {
	for name, test := range map[string]struct {
		replicas, start int
		reserved        []intstr.IntOrString
		want            []int
		problem         string
	}{
		"none":                {0, 0, nil, []int{}, ""},
		"from zero":           {3, 0, nil, []int{0, 1, 2}, ""},
		"from a start":        {2, 5, nil, []int{5, 6}, ""},
		"without reserved":    {3, 0, []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("3-4")}, []int{0, 2, 5}, ""},
		"ranges that overlap": {1, 0, []intstr.IntOrString{intstr.FromString("2-9"), intstr.FromString("0-3")}, []int{10}, ""},
		"negative":            {1, 0, []intstr.IntOrString{intstr.FromInt32(-1)}, nil, "reserveOrdinals[0]: -1 is negative"},
		"too many":            {20_000_000, 0, nil, nil, "replicas: 20000000 is more than the 150000 Pods that a cluster can have; reduce it"},
		"no range":            {1, 0, []intstr.IntOrString{intstr.FromString("5-3")}, nil, `reserveOrdinals[0]: "5-3" is not a range`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := InRange(test.replicas, test.start, test.reserved)
			if test.problem != "" {
				require.ErrorContains(t, err, test.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

// One walk finds all reservations, even if they are in the least favorable order.
func TestManyReservations(t *testing.T) {
	const many = 100_000
	reserved := make([]intstr.IntOrString, 0, many)
	for i := range many {
		reserved = append(reserved, intstr.FromInt32(int32(many-1-i)))
	}
	got, err := InRange(2, 0, reserved)
	require.NoError(t, err)
	assert.Equal(t, []int{many, many + 1}, got)
}

func TestNamesOfPods(t *testing.T) {
	for name, want := range map[string]int{"web-0": 0, "web-12": 12, "web-01": -1, "web-": -1, "other-1": -1, "web--1": -1, "web-a": -1} {
		ordinal, ours := Of("web", &metav1.ObjectMeta{Name: name})
		assert.Equal(t, want >= 0, ours, name)
		if ours {
			assert.Equal(t, want, ordinal)
			assert.Equal(t, name, PodName("web", ordinal))
		}
	}
}

func TestPositionDoesNotCountReservedOrdinals(t *testing.T) {
	reserved := []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("3-4")}
	for ordinal, want := range map[int]int{0: 0, 2: 1, 5: 2, 6: 3} {
		assert.Equal(t, want, Position(ordinal, 0, reserved), ordinal)
	}
	assert.Equal(t, 2, Position(7, 5, nil))
	assert.Zero(t, Position(2, 5, nil))
	assert.Equal(t, 2_000_000_000-3, Position(2_000_000_000, 0, reserved), "it takes no longer")

	reserved = append(reserved, intstr.FromString("4-9"), intstr.FromString("12-12"), intstr.FromString("0-1"), intstr.FromString("x"))
	for start := range 15 {
		all, err := InRange(20, start, reserved[:len(reserved)-1])
		require.NoError(t, err)
		for want, ordinal := range all {
			assert.Equal(t, want, Position(ordinal, start, reserved), "%d from %d", ordinal, start)
		}
	}
}
