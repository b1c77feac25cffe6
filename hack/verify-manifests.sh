#!/usr/bin/env bash
# Fails if artifacts/store.yaml, artifacts/install.yaml or artifacts/monitoring.yaml differ from what the chart renders, or if helm lint finds a mistake.
set -euo pipefail
cd "$(dirname "$0")/.."

"$(hack/helm.sh)" lint --strict --quiet artifacts/helm/kruise
rendered=$(mktemp -d)
trap 'rm -rf "$rendered"' EXIT
hack/update-manifests.sh "$rendered"
for file in store.yaml install.yaml monitoring.yaml; do
  if ! diff -u "artifacts/$file" "$rendered/$file"; then
    echo "artifacts/$file is out of date: run hack/update-manifests.sh" >&2
    exit 1
  fi
done
