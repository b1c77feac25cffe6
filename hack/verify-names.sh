#!/usr/bin/env bash
# Fails if a folder is called util, common or helpers, or if docs/contract does not list the tests correctly.
set -euo pipefail
cd "$(dirname "$0")/.."

# The generator of clients creates a folder with such a name.
folders=$(git ls-files -- '*.go' ':!pkg/generated' | xargs -n1 dirname | sort -u | grep -E '(^|/)(utils?|common|helpers?)(/|$)' || true)
if [[ -n "$folders" ]]; then
  printf '%s\n' "$folders" >&2
  echo "rename the folders above: the name must say what the folder contains." >&2
  exit 1
fi
go test -count=1 ./hack/contract
