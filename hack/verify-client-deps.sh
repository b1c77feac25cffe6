#!/usr/bin/env bash
# Builds, vets and tests the example client as the separate module that it is, and fails
# when a client would link the Kubernetes tree, a server, or a package of ours that is none
# of clients' business.
set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
cd "${ROOT}/artifacts/examples/client-go"

go vet ./...
go test ./...

packages="$(go list -deps ./...)"
if grep -E '^k8s\.io/(kubernetes|apiserver)(/|$)' <<< "${packages}"; then
  echo "a client links the packages above: keep them out of pkg/apis/*/v1*, pkg/apis/pub and pkg/generated." >&2
  exit 1
fi
ours="$(grep '^kruise\.io/kruise/' <<< "${packages}" | grep -vE '^kruise\.io/kruise/(pkg/(apis|generated)/|artifacts/examples/)' || true)"
if [[ -n "${ours}" ]]; then
  echo "a client links more of ours than pkg/apis and pkg/generated: ${ours}" >&2
  exit 1
fi
if forbidden="$(grep -E '^kruise\.io/kruise/pkg/apis/[^/]+/(install|validation)$' <<< "${packages}")"; then
  echo "a client links ${forbidden}, which are for servers." >&2
  exit 1
fi
echo "the example client links pkg/apis and pkg/generated alone, $(wc -l <<< "${packages}") packages in all."
