// Package groupcommit combines concurrent changes of one record into a single write.
//
// Without it, every client that changes a popular record writes it once, and most writes fail with a conflict and are retried.
// With a Writer, one goroutine writes the record. Requests that arrive during that write wait. The next write then applies all
// waiting changes one after another, each on the result of the previous ones. The cost per change falls as more requests arrive.
// Each request still gets its own answer, and a nil answer means that its change is stored.
//
// The package orders the requests of this process. The caller owns the write itself. If another process writes the same record,
// the caller must apply the changes again to what that process stored. Enter at Writer.Do.
package groupcommit
