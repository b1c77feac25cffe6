#!/usr/bin/env bash
# Renders artifacts/store.yaml (what outlives the installation: the namespace, the volume claim, and the webhook for the garbage
# collector) and artifacts/install.yaml (everything else) from the chart with its default values. With a folder, renders there instead.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-artifacts}
helm=$(hack/helm.sh)
render() {
  "$helm" template kruise artifacts/helm/kruise --namespace kruise-system --kube-version 1.36.3 "$@"
}
{
  echo "# Code generated from artifacts/helm/kruise by hack/update-manifests.sh. DO NOT EDIT."
  echo "# What holds your objects. Apply it before install.yaml. Deleting it deletes every Kruise object and, through owner references,"
  echo "# its Pods."
  render --show-only templates/namespace.yaml --show-only templates/apiserver/storage.yaml \
    --show-only templates/apiserver/garbage.yaml
} >"$out/store.yaml"
{
  echo "# Code generated from artifacts/helm/kruise by hack/update-manifests.sh. DO NOT EDIT."
  echo "# Everything but what store.yaml has. It can be deleted and applied again: the objects stay."
  render --set installation.createNamespace=false \
    --set storage.embedded.persistentVolumeClaim.existingClaim=kruise-apiserver-data \
    --set storage.garbageCollectionProtection=false
} >"$out/install.yaml"
