//go:build integration && !fault

package integration

// operations is how many disruptions are asked for.
const operations = 600
