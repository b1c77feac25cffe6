// Package budgetconflicts is an admission plugin. It refuses a new PodUnavailableBudget if another budget in its namespace
// has the same target or evidently selects the same Pods. The validation package of the group defines what a conflict is.
//
// Two budgets that are created at the same moment can both pass. That does no harm, because a fixed order selects the
// one budget that governs a Pod.
package budgetconflicts
