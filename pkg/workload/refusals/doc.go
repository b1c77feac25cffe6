// Package refusals counts requests that admission refused, by object and user.
//
// Users choose both names, and each pair is a series that is never removed. So the number of series is limited. Enter at NewCounter.
package refusals
