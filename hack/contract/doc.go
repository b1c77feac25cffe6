// Command contract keeps docs/contract and the tests together.
//
// A page there has a table with one row for each case, and a test names its cases by a comment, "Case cloneset 12." The command
// fills the column of tests from the comments. This package's test fails when that was forgotten, when a comment names a case that
// no page has, and when a test is named for a number. Enter at main.
package main
