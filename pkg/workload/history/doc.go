// Package history owns the revisions of a workload: what a ControllerRevision holds, how it is named, which revision stores
// given data, and which revisions may be deleted.
//
// The package only decides and builds; it makes no API requests. A kind chooses a Format: its data, its label and its equality.
// Enter at Format.Resolve, which decides whether a revision is created, bumped or reused, and at Trim.
package history
