#!/usr/bin/env bash
# Renders artifacts/store.yaml (what outlives the installation: the namespace, the volume claim, and the webhook for the garbage
# collector), artifacts/install.yaml (everything else) and artifacts/monitoring.yaml (what Prometheus and Grafana need) from the chart
# with its default values.
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
  echo "# all Kruise objects and, through owner references, their Pods. Do not apply it to a cluster with OpenKruise: see install.yaml."
  render --show-only templates/namespace.yaml --show-only templates/apiserver/storage.yaml \
    --show-only templates/apiserver/garbage.yaml
} >"$out/store.yaml"
{
  echo "# Code generated from artifacts/helm/kruise by hack/update-manifests.sh. DO NOT EDIT."
  echo "# Everything that is not in store.yaml. You can delete it and apply it again without losing objects."
  echo "#"
  echo "# Do not apply it, or store.yaml, to a cluster with OpenKruise (kubectl get crd clonesets.apps.kruise.io finds it): they replace roles"
  echo "# and webhooks of OpenKruise, which then stops working. Use the chart, as docs/user/coming-from-openkruise.md says."
  render --set installation.createNamespace=false \
    --set storage.embedded.persistentVolumeClaim.existingClaim=kruise-apiserver-data \
    --set storage.garbageCollectionProtection=false
} >"$out/install.yaml"
{
  echo "# Code generated from artifacts/helm/kruise by hack/update-manifests.sh. DO NOT EDIT."
  echo "# For the operator of Prometheus and the sidecar of Grafana: what to scrape, alerts and dashboards. It is optional."
  render --set monitoring.monitors.enabled=true --set monitoring.rules.enabled=true --set monitoring.dashboards.enabled=true \
    --show-only templates/monitoring/monitors.yaml --show-only templates/monitoring/rules.yaml \
    --show-only templates/monitoring/dashboards.yaml
} >"$out/monitoring.yaml"
