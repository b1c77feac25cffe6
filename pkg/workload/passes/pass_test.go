package passes

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestBatches(t *testing.T) {
	tests := map[string]struct {
		n, largest, failFrom int
		want                 []int
	}{
		"batches double":              {n: 10, largest: 100, failFrom: 99, want: []int{1, 2, 4, 3}},
		"batches have a largest size": {n: 10, largest: 2, failFrom: 99, want: []int{1, 2, 2, 2, 2, 1}},
		"none wanted":                 {n: 0, largest: 100},
		"the first fails alone":       {n: 10, largest: 100, failFrom: 0, want: []int{1}},
		"the third batch is the last": {n: 10, largest: 100, failFrom: 5, want: []int{1, 2, 4}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var sizes []int
			err := batches(tc.n, tc.largest, func(begin, end int) error {
				sizes = append(sizes, end-begin)
				if end > tc.failFrom {
					return errors.New("quota")
				}
				return nil
			})
			assert.Equal(t, tc.want, sizes)
			assert.Equal(t, tc.failFrom < tc.n, err != nil)
		})
	}
}

// Each call takes 300 ms, one at a time, so the pass has time for four of ten calls.
func TestPassStartsNothingAfterItsTime(t *testing.T) {
	for name, each := range map[string]func(p *Pass, f func(int) error) error{
		"Each":      func(p *Pass, f func(int) error) error { return p.Each(10, f) },
		"SlowStart": func(p *Pass, f func(int) error) error { return p.SlowStart(10, 4, f) },
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Now())
			p := Begin(clock, 1)
			var calls []int
			call := func(i int) error {
				calls = append(calls, i)
				clock.Step(300 * time.Millisecond)
				return nil
			}
			require.NoError(t, each(p, call))
			assert.Equal(t, []int{0, 1, 2, 3}, calls)
			assert.True(t, p.Unfinished())
			// More work of the same pass still makes progress, one call at a time.
			require.NoError(t, each(p, call))
			assert.Equal(t, []int{0, 1, 2, 3, 0}, calls)
		})
	}
}

func TestPassThatEndsInTimeIsFinished(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	p := Begin(clock, 0)
	var calls atomic.Int32
	require.NoError(t, p.Each(100, func(int) error { calls.Add(1); return nil }))
	// The time is over now, but nothing is left to do.
	clock.Step(Time)
	assert.Equal(t, int32(100), calls.Load())
	assert.False(t, p.Unfinished())
}

func TestSlowStartEndsWithTheBatchThatFails(t *testing.T) {
	var calls atomic.Int32
	err := SlowStart(100, 4, func(i int) error {
		calls.Add(1)
		if i == 5 {
			return errors.New("quota")
		}
		return nil
	})
	require.EqualError(t, err, "quota")
	assert.Equal(t, int32(7), calls.Load(), "batches of 1, 2 and 4")
}

func TestPanicOfOneCallDoesNotStopTheOthers(t *testing.T) {
	var called [3]bool
	err := Parallel(3, 1, func(i int) error {
		called[i] = true
		if i == 1 {
			panic("a wrong patch")
		}
		return nil
	})
	assert.ErrorContains(t, err, "panic: a wrong patch")
	assert.Equal(t, [3]bool{true, true, true}, called)
}
