#!/usr/bin/env bash
# Fails if a folder is called util, common or helpers, if the name of a test begins with an article, or if docs/contract does not list
# the tests correctly.
set -euo pipefail
cd "$(dirname "$0")/.."

# The generator of clients creates a folder with such a name.
folders=$(git ls-files -- '*.go' ':!pkg/generated' | xargs -n1 dirname | sort -u | grep -E '(^|/)(utils?|common|helpers?)(/|$)' || true)
if [[ -n "$folders" ]]; then
  printf '%s\n' "$folders" >&2
  echo "rename the folders above: the name must say what the folder contains." >&2
  exit 1
fi
tests=$(git grep -nE '^func Test(A|An|The)[A-Z][a-z]' -- '*_test.go' || true)
if [[ -n "$tests" ]]; then
  printf '%s\n' "$tests" >&2
  echo "rename the tests above: a name says the behaviour, without an article at its beginning." >&2
  exit 1
fi
go test -count=1 ./hack/contract
