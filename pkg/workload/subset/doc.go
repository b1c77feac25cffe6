// Package subset owns what UnitedDeployment and WorkloadSpread have in common: how a subset of nodes changes a Pod, and when a
// Pod counts as unschedulable.
//
// All functions are pure; the caller passes the current time. Enter at Require, Patch and Unschedulable.
package subset
