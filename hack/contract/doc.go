// Command contract keeps docs/contract and the tests consistent.
//
// A page there has a table with one row for each case. A test names its cases in a comment, for example "Case
// cloneset 12." The command fills the column of tests from the comments. The test of this package fails if a page is
// out of date, if a comment names a case that no page has, or if a test name contains a case number. Enter at main.
package main
