// Package why answers why an object makes no progress, in one sentence: the subject, the fact, and what to do.
//
// A reader collects facts: what controllers publish in statuses, conditions, labels, annotations and events. A table of causes then
// names the first cause that the facts show. Causes are pure functions, sorted so that a cause comes before those that it hides.
// Enter at Explain.
package why
