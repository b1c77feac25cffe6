#!/usr/bin/env bash
# Runs more of what "make unit" runs: 10,000 round trips of each kind from each version, 100,000 simulated
# rollouts of CloneSets and of StatefulSets, 20,000 simulated budgets, and every fuzz target.
# usage: fuzz.sh [time for each fuzz target, default 60s]
set -euo pipefail
cd "$(dirname "$0")/.."

# The tests create many objects that live for a short time. Fewer garbage collections make them faster.
export GOGC=400
# The output has one line for each kind, but no line for each object.
go test -v -count=1 -timeout 60m -run 'RoundTrip' ./pkg/apiserver/ -fuzz-iters=10000 |
  grep --line-buffered -vE '^=== (RUN|PAUSE|CONT|NAME)|^ +roundtrip\.go:'
go test -count=1 -timeout 60m -run 'SimulatedRollouts' ./pkg/controller/cloneset/ -rollouts=100000
go test -count=1 -timeout 60m -run 'SimulatedRollouts' ./pkg/controller/statefulset/ -rollouts=100000
go test -count=1 -timeout 60m -run 'GrantsNeverExceed' ./pkg/workload/disruption/ -simulations=20000
grep -rlE '^func Fuzz' --include='*_test.go' pkg | while read -r file; do
  for target in $(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$file"); do
    # Minimizing an input takes up to a minute by default, which is the whole time of a target.
    go test -run '^$' -fuzz "^${target}\$" -fuzztime "${1:-60s}" -fuzzminimizetime 10x "./$(dirname "$file")/"
  done
done
