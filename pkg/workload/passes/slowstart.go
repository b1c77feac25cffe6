package passes

// SlowStart calls f for 0..n-1 in batches that grow from 1 to width, and the calls of a batch at the same time. It stops after the first
// batch that fails and returns its errors, because the cause, for example a quota, would make the other batches fail too.
func SlowStart(n, width int, f func(i int) error) error {
	return batches(n, width, func(begin, end int) error {
		return Parallel(end-begin, width, func(i int) error { return f(begin + i) })
	})
}

// batches calls run for the indexes 0..n-1 in batches of 1, 2, 4 and so on, up to largest. run gets the half-open range of a batch.
func batches(n, largest int, run func(begin, end int) error) error {
	for begin, size := 0, 1; begin < n; begin, size = begin+size, min(size*2, largest) {
		size = min(size, n-begin)
		if err := run(begin, begin+size); err != nil {
			return err
		}
	}
	return nil
}
