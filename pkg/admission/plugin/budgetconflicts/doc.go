// Package budgetconflicts is the admission plugin that refuses a new PodUnavailableBudget whose
// target, or evidently whose Pods, another one of its namespace has already. What a conflict is, the
// validation of the group says.
//
// Two budgets that are created in the same moment can both pass. That does no harm: a Pod has one
// governing budget, chosen by a fixed order.
package budgetconflicts
