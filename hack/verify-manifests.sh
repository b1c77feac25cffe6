#!/usr/bin/env bash
# Fails when artifacts/install.yaml is not what the chart renders, or the chart is not sound.
set -euo pipefail
cd "$(dirname "$0")/.."

"$(hack/helm.sh)" lint --strict --quiet artifacts/helm/kruise
rendered=$(mktemp)
trap 'rm -f "$rendered"' EXIT
hack/update-manifests.sh "$rendered"
if ! diff -u artifacts/install.yaml "$rendered"; then
  echo "artifacts/install.yaml is not current: run hack/update-manifests.sh" >&2
  exit 1
fi
