package rollout

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func value(text string) *intstr.IntOrString { return new(intstr.Parse(text)) }

// pods concatenates groups of Pods.
func pods(groups ...[]Pod) (all []Pod) {
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

func times(n int, pod Pod) (group []Pod) {
	for range n {
		group = append(group, pod)
	}
	return group
}

var (
	oldReady  = Pod{Available: true}
	newReady  = Pod{New: true, Available: true}
	newBroken = Pod{New: true}
	newPicked = Pod{New: true, Available: true, SpecifiedDelete: true}
)

// Case cloneset 4.
func TestCalculateWorkedExamples(t *testing.T) {
	same := func(s Spec) Spec { s.SameRevision = true; return s }
	tests := map[string]struct {
		spec Spec
		pods []Pod
		want Diff
	}{
		"a: room for one unavailable, so the picked Pod goes now": {
			spec: same(Spec{Replicas: 5, MaxUnavailable: value("2"), MaxSurge: value("1")}),
			pods: pods(times(1, newBroken), times(1, newPicked), times(3, newReady)),
			want: Diff{DeleteReadyLimit: 1, UpdateMaxUnavailable: 2},
		},
		"b: no room, so surge first": {
			spec: same(Spec{Replicas: 5, MaxUnavailable: value("1"), MaxSurge: value("1")}),
			pods: pods(times(1, newBroken), times(1, newPicked), times(3, newReady)),
			want: Diff{Up: 1, UpLimit: 1, UseSurge: 1, UpdateMaxUnavailable: 1},
		},
		"b: the surge Pod is not available yet": {
			spec: same(Spec{Replicas: 5, MaxUnavailable: value("1"), MaxSurge: value("1")}),
			pods: pods(times(2, newBroken), times(1, newPicked), times(3, newReady)),
			want: Diff{UseSurge: 1, UpdateMaxUnavailable: 2},
		},
		"b: the surge Pod is available": {
			spec: same(Spec{Replicas: 5, MaxUnavailable: value("1"), MaxSurge: value("1")}),
			pods: pods(times(1, newBroken), times(1, newPicked), times(4, newReady)),
			want: Diff{DeleteReadyLimit: 1, UseSurge: 1, UpdateMaxUnavailable: 2},
		},
		"c: the picked Pod is the broken one": {
			spec: same(Spec{Replicas: 5, MaxUnavailable: value("1"), MaxSurge: value("1")}),
			pods: pods(times(1, Pod{New: true, SpecifiedDelete: true}), times(4, newReady)),
			want: Diff{UpdateMaxUnavailable: 1},
		},
		"a broken and a serving Pod are picked": {
			spec: same(Spec{Replicas: 5, MaxUnavailable: value("2")}),
			pods: pods(times(1, Pod{New: true, SpecifiedDelete: true}), times(1, newPicked), times(3, newReady)),
			want: Diff{DeleteReadyLimit: 1, UpdateMaxUnavailable: 2},
		},
		"d: the default of 20% rounds up": {
			spec: Spec{Replicas: 5},
			pods: times(5, oldReady),
			want: Diff{UpdateNum: 5, UpdateMaxUnavailable: 1},
		},
		"e: surge begins with one new Pod": {
			spec: Spec{Replicas: 5, MaxUnavailable: value("20%"), MaxSurge: value("1")},
			pods: times(5, oldReady),
			want: Diff{Up: 1, UpLimit: 1, UseSurge: 1, UpdateNum: 5, UpdateMaxUnavailable: 1},
		},
		"e: the surge Pod is there": {
			spec: Spec{Replicas: 5, MaxUnavailable: value("20%"), MaxSurge: value("1")},
			pods: pods(times(5, oldReady), times(1, newReady)),
			want: Diff{UseSurge: 1, UpdateNum: 4, UpdateMaxUnavailable: 2},
		},
		"e: the last old Pod is one too many": {
			spec: Spec{Replicas: 5, MaxUnavailable: value("20%"), MaxSurge: value("1")},
			pods: pods(times(1, oldReady), times(5, newReady)),
			want: Diff{Down: 1, DownOld: 1, DeleteReadyLimit: 2, UpdateMaxUnavailable: 2},
		},
		"f: rounded down to none, surge still makes progress": {
			spec: Spec{Replicas: 4, MaxUnavailable: value("20%"), MaxSurge: value("1")},
			pods: pods(times(4, oldReady), times(1, newReady)),
			want: Diff{UseSurge: 1, UpdateNum: 3, UpdateMaxUnavailable: 1},
		},
		"g: partition 90% of 8 lets one go": {
			spec: Spec{Replicas: 8, Partition: value("90%")},
			pods: times(8, oldReady),
			want: Diff{Partition: 7, UpdateNum: 1, UpdateMaxUnavailable: 2},
		},
		"h: partition 100% freezes all": {
			spec: Spec{Replicas: 8, Partition: value("100%")},
			pods: times(8, oldReady),
			want: Diff{Partition: 8, UpdateMaxUnavailable: 2},
		},
		"i: partition 50% of 1 freezes it": {
			spec: Spec{Replicas: 1, Partition: value("50%")},
			pods: times(1, oldReady),
			want: Diff{Partition: 1, UpdateMaxUnavailable: 1},
		},
		"j: scale up beyond a fixed partition": {
			spec: Spec{Replicas: 12, Partition: value("5")},
			pods: pods(times(5, oldReady), times(5, newReady)),
			want: Diff{Partition: 5, Up: 2, UpLimit: 2, UpdateMaxUnavailable: 1},
		},
		"k: scale up keeps a partition of 50%": {
			spec: Spec{Replicas: 12, Partition: value("50%")},
			pods: pods(times(5, oldReady), times(5, newReady)),
			want: Diff{Partition: 6, Up: 2, UpOld: 1, UpLimit: 2, UpdateMaxUnavailable: 1},
		},
		"l: scale down in the middle of a rollout takes old Pods": {
			spec: Spec{Replicas: 8},
			pods: pods(times(5, oldReady), times(5, newReady)),
			want: Diff{Down: 2, DownOld: 5, DeleteReadyLimit: 4, UpdateNum: 3, UpdateMaxUnavailable: 4},
		},
		"m: a raised partition takes two Pods back": {
			spec: Spec{Replicas: 5, Partition: value("4"), Rollback: true},
			pods: pods(times(2, oldReady), times(3, newReady)),
			want: Diff{Partition: 4, UpdateNum: -2, UpdateMaxUnavailable: 1, UpOld: 2},
		},
		"n: a raised partition without the gate leaves them": {
			spec: Spec{Replicas: 5, Partition: value("4")},
			pods: pods(times(2, oldReady), times(3, newReady)),
			want: Diff{Partition: 4, UpdateMaxUnavailable: 1, UpOld: 2},
		},
		"a rollback moves no Pod from where Pods are missing": {
			spec: Spec{Replicas: 6, Partition: value("5"), Rollback: true, ScaleMaxUnavailable: value("1")},
			pods: times(1, Pod{}),
			want: Diff{Partition: 5, Up: 5, UpOld: 4, UpdateMaxUnavailable: -3},
		},
		"a rollback moves no Pod to where there are too many": {
			spec: Spec{Replicas: 2, Partition: value("1"), Rollback: true},
			pods: pods(times(2, oldReady), times(3, newReady)),
			want: Diff{Partition: 1, Down: 3, DownOld: 1, DeleteReadyLimit: 4, UpdateMaxUnavailable: 4},
		},
		"o: creation is throttled": {
			spec: same(Spec{Replicas: 5, ScaleMaxUnavailable: value("1")}),
			pods: times(3, newReady),
			want: Diff{Up: 2, UpLimit: 1, UpdateMaxUnavailable: -1},
		},
		"a held Pod does not count as one too many twice": {
			spec: same(Spec{Replicas: 3}),
			pods: pods(times(1, Pod{New: true, PreparingDelete: true}), times(4, newReady)),
			want: Diff{Down: 1, DeleteReadyLimit: 2, UpdateMaxUnavailable: 3},
		},
		"a held Pod is left out of the replicas on request": {
			spec: same(Spec{Replicas: 3, ExcludePreparingDelete: true}),
			pods: pods(times(1, Pod{New: true, PreparingDelete: true}), times(2, newReady)),
			want: Diff{Up: 1, UpLimit: 1, UpdateMaxUnavailable: 1},
		},
		"without surge, at least one Pod may be unavailable": {
			spec: same(Spec{Replicas: 5, MaxUnavailable: value("0")}),
			pods: pods(times(1, newPicked), times(4, newReady)),
			want: Diff{DeleteReadyLimit: 1, UpdateMaxUnavailable: 1},
		},
		"paused forbids surge": {
			spec: Spec{Replicas: 5, MaxSurge: value("2"), Paused: true},
			pods: times(5, oldReady),
			want: Diff{UpdateNum: 5, UpdateMaxUnavailable: 1},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Calculate(tc.spec, tc.pods)
			require.NoError(t, err)
			if tc.spec.SameRevision || tc.want.DownOld == 0 {
				// With no old Pod to delete, DownOld has no meaning.
				got.DownOld = 0
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestBadPercentIsNamed(t *testing.T) {
	for field, spec := range map[string]Spec{
		"partition":                    {Replicas: 1, Partition: value("abc")},
		"maxSurge":                     {Replicas: 1, MaxSurge: value("-5%")},
		"maxUnavailable":               {Replicas: 1, MaxUnavailable: value("5x%")},
		"scaleStrategy.maxUnavailable": {Replicas: 1, ScaleMaxUnavailable: value("half")},
	} {
		_, err := Calculate(spec, nil)
		assert.ErrorContains(t, err, "resolve "+field, field)
	}
}

func TestPartition(t *testing.T) {
	tests := map[string]struct {
		value    *intstr.IntOrString
		replicas int
		want     int
	}{
		"absent":                      {nil, 5, 0},
		"decimal percentage":          {value("0.5%"), 1000, 5},
		"no noise of binary fraction": {value("29%"), 100, 29},
		"99.9% of 10 lets one go":     {value("99.9%"), 10, 9},
		"beyond the replicas":         {value("12"), 10, 10},
		"below zero":                  {value("-1"), 10, 0},
		"a number freezes all":        {value("10"), 10, 10},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Partition(tc.value, tc.replicas)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestSelectUpdates(t *testing.T) {
	up, down := Candidate{Available: true}, Candidate{}
	tests := map[string]struct {
		diff       Diff
		candidates []Candidate
		census     Census
		want       []int
	}{
		"one at a time":                                     {Diff{UpdateNum: 5, UpdateMaxUnavailable: 1}, []Candidate{up, up, up}, Census{Unavailable: 0, UnavailableAtTarget: 0}, []int{0}},
		"no room":                                           {Diff{UpdateNum: 5, UpdateMaxUnavailable: 1}, []Candidate{up}, Census{Unavailable: 1, UnavailableAtTarget: 1}, nil},
		"what is broken already costs nothing":              {Diff{UpdateNum: 5, UpdateMaxUnavailable: 2}, []Candidate{down, down, up}, Census{Unavailable: 2, UnavailableAtTarget: 0}, []int{0, 1}},
		"a broken revision stops at the bound":              {Diff{UpdateNum: 5, UpdateMaxUnavailable: 2}, []Candidate{down, down}, Census{Unavailable: 3, UnavailableAtTarget: 1}, []int{0}},
		"one broken Pod goes where Pods miss":               {Diff{UpdateNum: 5, UpdateMaxUnavailable: -1}, []Candidate{down, down}, Census{Unavailable: 2, UnavailableAtTarget: 0}, []int{0}},
		"and no other while it is on its way":               {Diff{UpdateNum: 5, UpdateMaxUnavailable: -1}, []Candidate{down}, Census{Unavailable: 2, UnavailableAtTarget: 1}, nil},
		"rollback counts as many":                           {Diff{UpdateNum: -2, UpdateMaxUnavailable: 5}, []Candidate{up, up, up}, Census{Unavailable: 0, UnavailableAtTarget: 0}, []int{0, 1}},
		"fewer candidates than the diff expect":             {Diff{UpdateNum: 4, UpdateMaxUnavailable: 5}, []Candidate{up}, Census{Unavailable: 0, UnavailableAtTarget: 0}, []int{0}},
		"a broken one behind a serving one":                 {Diff{UpdateNum: 5, UpdateMaxUnavailable: 1}, []Candidate{up, down}, Census{Unavailable: 1, UnavailableAtTarget: 0}, []int{1}},
		"in order, a serving one holds the broken one back": {Diff{UpdateNum: 5, UpdateMaxUnavailable: 1}, []Candidate{up, down}, Census{Unavailable: 1, InOrder: true}, nil},
		"what is picked already counts":                     {Diff{UpdateNum: 2, UpdateMaxUnavailable: 5}, []Candidate{up, up}, Census{Picked: 1, PickedAvailable: 1}, []int{0}},
		"but not for a broken one":                          {Diff{UpdateNum: 1, UpdateMaxUnavailable: 1}, []Candidate{down}, Census{Unavailable: 1, Picked: 1, PickedAvailable: 1}, []int{0}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.diff.SelectUpdates(tc.candidates, tc.census))
		})
	}
}

func TestSelectDeletes(t *testing.T) {
	chosen, rest := SelectDeletes([]bool{true, false, true, true}, 2)
	assert.Equal(t, []int{0, 1, 2}, chosen)
	assert.Equal(t, 0, rest)
	chosen, rest = SelectDeletes([]bool{true, false}, 0)
	assert.Equal(t, []int{1}, chosen)
	assert.Equal(t, 0, rest)
}
