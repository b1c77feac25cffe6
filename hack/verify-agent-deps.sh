#!/usr/bin/env bash
# Fails if the node agent links packages that register unused types when it starts. The agent runs on every node.
set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
cd "${ROOT}"

packages="$(go list -deps ./cmd/node-agent)"
if grep -E '^k8s\.io/client-go/(kubernetes|informers|listers|applyconfigurations|dynamic|discovery)(/|$)|^kruise\.io/kruise/pkg/(generated|controller)(/|$)' \
  <<< "${packages}"; then
  echo "the node agent links the packages above: use pkg/nodeagent/cluster instead." >&2
  exit 1
fi
echo "the node agent links $(wc -l <<< "${packages}") packages and no clientset."
