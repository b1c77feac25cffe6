package ordering

import "math/rand/v2"

// Shuffled puts the items into random order and returns them. Creations stop at the first failure, so an item that is always refused,
// for example the Pod of one node, must not always come before the same other items.
func Shuffled[T any](items []T) []T {
	rand.Shuffle(len(items), func(i, k int) { items[i], items[k] = items[k], items[i] }) //nolint:gosec // An order needs no secret.
	return items
}
