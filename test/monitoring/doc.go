// Package monitoring tests the alert rules and the dashboards of the chart.
//
// The rules are evaluated by Prometheus' own engine over series that describe a situation: each alert must fire in its situation, and
// must be silent in every other. The queries of rules and dashboards may use only metrics that a program of ours exposes. The lists
// in test/exposed/testdata, which tests of the programs compare with their registries, say which. After the e2e suite, the alerts are
// evaluated over what the programs answered in it: they must be silent, and the dashboards must have data. It is a module of its own, so
// that the programs do not require Prometheus. hack/test-monitoring.sh runs it.
package monitoring
