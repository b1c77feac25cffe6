// Package resourceexpr computes an amount of cpu or memory from that of other containers, as an
// expression says: "max(cpu * 50%, 100m)".
//
// It knows + - * / ( ), max and min of two values, plain numbers, percentages, quantities, and
// one variable, cpu or memory, which is a quantity. It knows no kind. Parse finds all mistakes
// of an expression but one: that its value is negative may depend on the variable. Enter at
// Parse.
//
// The grammar has three ranks: a sum of products of operands. A value is a number or a quantity, which is an amount of a
// resource. Two quantities cannot be multiplied, and nothing can be divided by one. All computation is exact; only the result
// is rounded.
package resourceexpr
