// Package status records which agent and which container runtimes a node has, as an event on the Node.
//
// There is one event for each combination of versions. A restart with the same versions increases the count of that
// event. The caller provides the versions. Enter at Reporter.Report.
package status
