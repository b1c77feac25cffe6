#!/usr/bin/env bash
# Runs the integration tests on a cluster of their own. usage: test-integration.sh [go test flags]
# The tests wait for servers most of the time, so more of them run at the same time than there are CPUs.
set -euo pipefail
cd "$(dirname "$0")/.."
# The programs of the cluster may use more memory, which saves processor time.
export GOGC=300
hack/gotest.sh -tags integration -count=1 -timeout 60m -parallel 8 "$@" ./test/integration/
