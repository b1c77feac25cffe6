// Package history owns the revisions of a workload: what a ControllerRevision holds, how it is named, which one a template
// belongs to, and which ones may go.
//
// It decides and builds; it reads and writes no API. Enter at Resolve, which says whether the template's revision is to be
// created, bumped or reused, and at Trim.
package history
