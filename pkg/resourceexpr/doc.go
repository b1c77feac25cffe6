// Package resourceexpr computes an amount of cpu or memory from that of other containers, as an
// expression says: "max(cpu * 50%, 100m)".
//
// It knows + - * / ( ), max and min of two values, plain numbers, percentages, quantities, and
// the variables cpu and memory, which are quantities. It knows no kind. Parse finds all mistakes
// of an expression but one: that its value is negative may depend on the variables. Enter at
// Parse.
package resourceexpr
