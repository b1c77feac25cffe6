// Package exposed lists the metrics that a program has registered, for tests.
//
// A scrape shows only series that have a value, so it does not show a counter of errors before the first error. This package asks
// the registry itself. The test of each program in cmd compares the answer with the contract and with a list in testdata;
// the tests of alerts and dashboards read these lists. Enter at Metrics.
package exposed
