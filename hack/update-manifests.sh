#!/usr/bin/env bash
# Renders artifacts/install.yaml from the chart with its default values. With a path, renders there instead.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-artifacts/install.yaml}
helm=$(hack/helm.sh)
{
  echo "# Code generated from artifacts/helm/kruise by hack/update-manifests.sh. DO NOT EDIT."
  "$helm" template kruise artifacts/helm/kruise --namespace kruise-system --kube-version 1.36.3
} >"$out"
