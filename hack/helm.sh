#!/usr/bin/env bash
# Prints the path of the helm binary, building it from its Go module when it is missing or of another version.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v3.22.0
binary="$PWD/.local/bin/helm"
if ! go version -m "$binary" 2>/dev/null | grep -qE "helm\.sh/helm/v3\s+${version}\s"; then
  echo "building helm ${version}" >&2
  mkdir -p .local/bin
  GOBIN="$PWD/.local/bin" GOFLAGS= go install "helm.sh/helm/v3/cmd/helm@${version}" >&2
fi
echo "$binary"
