#!/usr/bin/env bash
# Fails when artifacts/store.yaml and artifacts/install.yaml are not what the chart renders, or the chart is not sound.
set -euo pipefail
cd "$(dirname "$0")/.."

"$(hack/helm.sh)" lint --strict --quiet artifacts/helm/kruise
rendered=$(mktemp -d)
trap 'rm -rf "$rendered"' EXIT
hack/update-manifests.sh "$rendered"
for file in store.yaml install.yaml; do
  if ! diff -u "artifacts/$file" "$rendered/$file"; then
    echo "artifacts/$file is not current: run hack/update-manifests.sh" >&2
    exit 1
  fi
done
