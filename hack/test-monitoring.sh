#!/usr/bin/env bash
# Tests the alert rules with the engine of Prometheus, and the queries of rules and dashboards. They are in a module of their own.
# usage: test-monitoring.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/../test/monitoring"

# The rules and dashboards are outside of the module, so Go would not notice that they have changed.
go test -count=1 -timeout 10m "$@" ./...
