//go:build integration && fault

package integration

// operations is the number of requested disruptions.
const operations = 10000
