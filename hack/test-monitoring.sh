#!/usr/bin/env bash
# Tests the alert rules with the engine of Prometheus, and the queries of rules and dashboards. They are in a module of their own.
# usage: test-monitoring.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/../test/monitoring"

go test -timeout 10m "$@" ./...
