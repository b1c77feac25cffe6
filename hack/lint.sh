#!/usr/bin/env bash
# Runs golangci-lint. The first run builds it into .local/bin.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v2.15.0
linter=$PWD/.local/bin/golangci-lint@$version
if [[ ! -x $linter ]]; then
  echo "building golangci-lint $version, which takes some minutes" >&2
  building=$(mktemp -d)
  trap 'rm -rf "$building"' EXIT
  GOBIN=$building go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"
  mkdir -p .local/bin
  mv "$building/golangci-lint" "$linter"
fi
"$linter" run "$@" ./...
