#!/usr/bin/env bash
# Runs the integration and e2e tests on other versions of Kubernetes than the default one.
# usage: versions.sh [VERSION...]. Without arguments, it runs them on each supported minor version.
# A failure on one version does not stop the tests on the next one.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -e .local/kubeconfig ]]; then
  echo 'stop the local cluster with "make down" first: the tests start one for each version' >&2
  exit 1
fi
versions=("$@")
if ((${#versions[@]} == 0)); then
  versions=(1.30.14 1.32.9 1.34.4 1.35.4)
fi
failed=()
for version in "${versions[@]}"; do
  printf '\n== Kubernetes %s (%d s so far)\n' "$version" "$SECONDS"
  export K8S_VERSION=$version
  go run ./hack/local binaries
  hack/test-integration.sh || failed+=("$version (integration)")
  hack/test-e2e.sh || failed+=("$version (e2e)")
done
if ((${#failed[@]} > 0)); then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
