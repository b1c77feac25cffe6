#!/usr/bin/env bash
# Prints the path of the helm binary. If it is missing, builds it from the module of the local cluster's programs.
set -euo pipefail
cd "$(dirname "$0")/.."

module=hack/localcluster/binaries
version=$(sed -nE 's#^\s*helm\.sh/helm/v3 (v[0-9.]+)$#\1#p' "$module/go.mod")
binary="$PWD/.local/bin/helm@${version}"
if [[ ! -x "$binary" ]]; then
  echo "building helm ${version}" >&2
  mkdir -p .local/bin
  CGO_ENABLED=0 go build -C "$module" -trimpath -ldflags "-s -w" -o "${binary}.building" helm.sh/helm/v3/cmd/helm >&2
  mv "${binary}.building" "$binary"
fi
echo "$binary"
