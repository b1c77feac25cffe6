#!/usr/bin/env bash
# Fails when the node agent, which runs on every node, links what registers types that it never uses when it starts.
set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
cd "${ROOT}"

packages="$(go list -deps ./cmd/node-agent)"
if grep -E '^k8s\.io/client-go/(kubernetes|informers|listers|applyconfigurations|dynamic|discovery)(/|$)|^kruise\.io/kruise/pkg/(generated|controller)(/|$)' \
  <<< "${packages}"; then
  echo "the node agent links the packages above: reach the API through pkg/nodeagent/cluster." >&2
  exit 1
fi
echo "the node agent links $(wc -l <<< "${packages}") packages, and no clientset."
