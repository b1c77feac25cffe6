// Package recording keeps what the programs of a cluster answer at /metrics during a test run. test/monitoring reads it back, and
// evaluates the alert rules and the dashboards over it.
//
// A recording is a folder with one file for each scrape: <container>/<pod>/<Unix time in ms>.txt.gz. The file of a scrape that
// failed is empty.
package recording
