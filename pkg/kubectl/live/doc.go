// Package live shows a rollout while it runs. A Model holds what is shown, View turns it into text, and neither reads nor writes
// anything. On a terminal, a program of the library bubbletea draws the text again at each change and passes keys on. Elsewhere, a
// line is printed for each change.
//
// Enter at NewWatch and NewList.
package live
