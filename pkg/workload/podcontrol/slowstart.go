package podcontrol

// SlowStart calls run for the indexes 0..n-1 in batches of 1, 2, 4 and so on, up to largest at once. The first batch that fails
// is the last: what made it fail, a quota for example, will make the others fail as well. Run gets the half-open range of a
// batch. It returns the error of that batch.
func SlowStart(n, largest int, run func(begin, end int) error) error {
	for begin, size := 0, 1; begin < n; begin, size = begin+size, min(size*2, largest) {
		size = min(size, n-begin)
		if err := run(begin, begin+size); err != nil {
			return err
		}
	}
	return nil
}
