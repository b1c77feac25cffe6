// Package groupcommit has those who wait to change one record decided together, in its next write.
//
// A record that many want to change at once is written once for each, and each loses against the others and tries again. With a
// Writer one of them writes; who comes meanwhile waits, and all who wait are decided one after another inside the next single
// write, each on what those before it left. So the cost of a change falls as more want one, and each still has an answer of its
// own, that is true only once the write is stored.
//
// It owns the order of requests in this process. The write itself is its caller's, and so is what happens when another process
// writes the same record: decide anew on what that one stored. Enter at Writer.Do.
package groupcommit
