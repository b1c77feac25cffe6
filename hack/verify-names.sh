#!/usr/bin/env bash
# Fails when a folder is called util, common or helpers, or when docs/contract and the tests do not fit together.
set -euo pipefail
cd "$(dirname "$0")/.."

# Generated clients have a folder of that name by the generator's choice.
folders=$(git ls-files -- '*.go' ':!pkg/generated' | xargs -n1 dirname | sort -u | grep -E '(^|/)(utils?|common|helpers?)(/|$)' || true)
if [[ -n "$folders" ]]; then
  printf '%s\n' "$folders" >&2
  echo "the folders above have no subject: name each for what it owns." >&2
  exit 1
fi
go test -count=1 ./hack/contract
