#!/usr/bin/env bash
# Builds, vets and tests the example client, which is a separate module. Fails if a client would link
# k8s.io/kubernetes, a server, or a package of ours that is not for clients.
set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
cd "${ROOT}/artifacts/examples/client-go"

go vet ./...
go test ./...

packages="$(go list -deps ./...)"
if grep -E '^k8s\.io/(kubernetes|apiserver)(/|$)' <<< "${packages}"; then
  echo "a client links the packages above: do not import them in pkg/apis/*/v1*, pkg/apis/pub and pkg/generated." >&2
  exit 1
fi
ours="$(grep '^kruise\.io/kruise/' <<< "${packages}" | grep -vE '^kruise\.io/kruise/(pkg/(apis|generated)/|artifacts/examples/)' || true)"
if [[ -n "${ours}" ]]; then
  echo "a client links packages of ours besides pkg/apis and pkg/generated: ${ours}" >&2
  exit 1
fi
if forbidden="$(grep -E '^kruise\.io/kruise/pkg/apis/[^/]+/(install|validation)$' <<< "${packages}")"; then
  echo "a client links packages for servers: ${forbidden}" >&2
  exit 1
fi
echo "the example client links only pkg/apis and pkg/generated of ours, and $(wc -l <<< "${packages}") packages in all."
