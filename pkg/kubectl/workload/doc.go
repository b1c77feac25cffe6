// Package workload says where each workload kind of this project keeps what the plugin reads and writes: its Pod template, its
// selector, its pause, its partition and the counts of its status. No other file of the plugin names such a field.
//
// A Workload reads and changes an object in any served version. The object may be typed or unstructured. Enter at Of.
package workload
