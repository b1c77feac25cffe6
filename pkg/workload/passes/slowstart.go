package passes

// SlowStart calls run for the indexes 0..n-1 in batches of 1, 2, 4 and so on, up to largest. run gets the half-open range of a
// batch. SlowStart stops at the first batch that fails and returns its error, because the cause, for example a quota, would make
// the other batches fail too.
func SlowStart(n, largest int, run func(begin, end int) error) error {
	for begin, size := 0, 1; begin < n; begin, size = begin+size, min(size*2, largest) {
		size = min(size, n-begin)
		if err := run(begin, begin+size); err != nil {
			return err
		}
	}
	return nil
}
