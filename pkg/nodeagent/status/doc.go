// Package status tells the cluster which agent and which container runtimes a node has.
//
// It owns one event on the Node for each combination of versions: a restart with the same versions counts that event up
// instead of adding one. It finds out nothing itself. Enter at Reporter.Report.
package status
