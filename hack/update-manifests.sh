#!/usr/bin/env bash
# Renders artifacts/store.yaml (what outlives the installation: the namespace, the volume claim, and the webhook for the garbage
# collector) and artifacts/install.yaml (everything else) from the chart with its default values.
# usage: update-manifests.sh [folder, default artifacts]
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-artifacts}
helm=$(hack/helm.sh)
render() {
  "$helm" template kruise artifacts/helm/kruise --namespace kruise-system --kube-version 1.36.3 "$@"
}
{
  echo "# Code generated from artifacts/helm/kruise by hack/update-manifests.sh. DO NOT EDIT."
  echo "# The namespace and the volume claim, which contain all Kruise objects. Apply it before install.yaml. Deleting it deletes"
  echo "# all Kruise objects and, through owner references, their Pods."
  render --show-only templates/namespace.yaml --show-only templates/apiserver/storage.yaml \
    --show-only templates/apiserver/garbage.yaml
} >"$out/store.yaml"
{
  echo "# Code generated from artifacts/helm/kruise by hack/update-manifests.sh. DO NOT EDIT."
  echo "# Everything that is not in store.yaml. You can delete it and apply it again without losing objects."
  render --set installation.createNamespace=false \
    --set storage.embedded.persistentVolumeClaim.existingClaim=kruise-apiserver-data \
    --set storage.garbageCollectionProtection=false
} >"$out/install.yaml"
