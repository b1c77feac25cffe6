// Package validation holds the rules of the kinds in the group policy.kruise.io, for the hub
// types. Every function returns all errors of an object at once; each names the field, its
// value and what to do.
//
// Updates are checked only for the fields that they change. Enter at ValidatePodUnavailableBudget,
// ValidatePodUnavailableBudgetUpdate, ValidatePodUnavailableBudgetStatusUpdate, and for the other budgets
// of a namespace at ValidatePodUnavailableBudgetConflicts.
package validation
