package podcontrol

import (
	"errors"
	"sync"
)

// SlowStart calls f for 0..n-1 in batches of 1, 2, 4 and so on, each batch at once. The first batch that fails is the last:
// what made it fail, a quota for example, will make the others fail as well. It returns how many calls succeeded, and the
// errors of those that did not.
func SlowStart(n int, f func(i int) error) (succeeded int, err error) {
	for begin, size := 0, 1; begin < n; begin, size = begin+size, size*2 {
		size = min(size, n-begin)
		failures := make([]error, size)
		var wg sync.WaitGroup
		for i := range size {
			wg.Go(func() { failures[i] = f(begin + i) })
		}
		wg.Wait()
		for _, failure := range failures {
			if failure == nil {
				succeeded++
			}
		}
		if err := errors.Join(failures...); err != nil {
			return succeeded, err
		}
	}
	return succeeded, nil
}
