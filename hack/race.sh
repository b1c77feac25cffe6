#!/usr/bin/env bash
# Runs the tests of the packages with goroutines under the race detector. usage: race.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=1 # The race detector needs it.

# Each simulation uses only one goroutine, so a few simulations are enough here.
git grep -lE '^\s*go (func|[a-z])|\.Go\(' -- 'pkg/*.go' 'cmd/*.go' 'hack/*.go' ':!pkg/generated' |
  xargs -n1 dirname | sort -u | grep -v '^pkg/controller/cloneset$' | sed 's|^|./|' |
  xargs go test -race -timeout 20m "$@"
go test -race -timeout 20m ./pkg/controller/cloneset -rollouts 40
