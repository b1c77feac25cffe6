// Package ordering owns which Pod comes first: when a workload scales down (ForDeletion), and when it updates (ForUpdate,
// then Priority and Scatter).
//
// Every order is total: what remains equal is decided by name, so that two passes over the same Pods agree. The functions
// sort copies and write nothing.
package ordering
