#!/usr/bin/env bash
# The long runs of what "make unit" runs shortly: 10,000 round trips of each kind from each version, 100,000 simulated
# rollouts, and every fuzz target.
# usage: fuzz.sh [time for each fuzz target, default 60s]
set -euo pipefail
cd "$(dirname "$0")/.."

# Objects are many and short-lived: memory is cheaper than collecting them.
export GOGC=400
# What is said of each kind is shown, not of each object.
go test -v -count=1 -timeout 60m -run 'RoundTrip' ./pkg/apiserver/ -fuzz-iters=10000 |
  grep --line-buffered -vE '^=== (RUN|PAUSE|CONT|NAME)|^ +roundtrip\.go:'
go test -count=1 -timeout 60m -run 'SimulatedRollouts' ./pkg/controller/cloneset/ -rollouts=100000
grep -rlE '^func Fuzz' --include='*_test.go' pkg | while read -r file; do
  for target in $(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$file"); do
    # What is new is made smaller ten times at most: by default that takes up to a minute, which is all there is.
    go test -run '^$' -fuzz "^${target}\$" -fuzztime "${1:-60s}" -fuzzminimizetime 10x "./$(dirname "$file")/"
  done
done
