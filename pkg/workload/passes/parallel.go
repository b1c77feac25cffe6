package passes

import (
	"errors"
	"sync"

	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/recovery"
)

// Parallel calls f for 0..n-1, at most width calls at once, and returns all errors joined. An error does not stop the other
// calls, and a panic is an error. It returns after the last call.
func Parallel(n, width int, f func(i int) error) error {
	failures := make([]error, n)
	free := make(chan struct{}, max(1, width))
	var wg sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			defer recovery.Into(klog.Background(), &failures[i])
			failures[i] = f(i)
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}
