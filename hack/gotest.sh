#!/usr/bin/env bash
# Runs go test. The logs of servers and controllers are in the output too, so that the failed tests are printed once more at the end.
# The linter runs go vet with all tags, so it does not run here again.
# usage: gotest.sh [go test arguments]
set -euo pipefail

output=$(mktemp)
trap 'rm -f "$output"' EXIT
go test -vet=off "$@" 2>&1 | tee "$output" && exit 0
code=$?
printf '\nfailed tests:\n'
awk '/^ *--- FAIL/ { failed = 1; print; next } /^panic: / { failed = 1 } /^[^ \t]/ { failed = 0 } failed' "$output"
exit "$code"
