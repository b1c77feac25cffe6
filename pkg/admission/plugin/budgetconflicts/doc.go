// Package budgetconflicts is an admission plugin. It refuses a new PodUnavailableBudget if another budget in its namespace
// has the same target or evidently selects the same Pods. The validation package of the group defines what a conflict is.
//
// Budgets are written one at a time (see Exclusive of the kind), so that of two conflicting budgets that are created at the same
// moment, the second one is refused.
package budgetconflicts
