#!/usr/bin/env bash
# Runs the tests of the packages that start goroutines under the race detector. usage: race.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=1 # The race detector needs it.

# The simulations belong to one goroutine each: a few of them are enough here.
git grep -lE '^\s*go (func|[a-z])|\.Go\(' -- 'pkg/*.go' 'cmd/*.go' 'hack/*.go' ':!pkg/generated' |
  xargs -n1 dirname | sort -u | grep -v '^pkg/controller/cloneset$' | sed 's|^|./|' |
  xargs go test -race -timeout 20m "$@"
go test -race -timeout 20m ./pkg/controller/cloneset -rollouts 40
