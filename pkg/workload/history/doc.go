// Package history owns the revisions of a workload: what a ControllerRevision holds, how it is named, which one some data
// belongs to, and which ones may be deleted.
//
// It decides and builds; it reads and writes no API. A kind chooses a Format: its data, its label and its equality. Enter at
// Format.Resolve, which says whether a revision is to be created, bumped or reused, and at Trim.
package history
