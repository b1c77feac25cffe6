#!/usr/bin/env bash
# Fails if generated code is out of date. It generates in a copy and does not change the checkout.
set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
COPY="$(mktemp -d)"
trap 'rm -rf "${COPY}"' EXIT

cd "${ROOT}"
git ls-files -z --cached --others --exclude-standard -- go.mod go.sum hack pkg/apis pkg/generated |
  while IFS= read -r -d '' file; do
    [[ ! -e "${file}" ]] || printf '%s\0' "${file}"
  done | tar --null --files-from=- --create | tar --extract --directory "${COPY}"

ROOT="${COPY}" BIN="${ROOT}/.local/bin" "${COPY}/hack/update-codegen.sh"

if ! diff --recursive --brief "${ROOT}/pkg/apis" "${COPY}/pkg/apis" ||
  ! diff --recursive --brief "${ROOT}/pkg/generated" "${COPY}/pkg/generated"; then
  echo "generated code is out of date: run hack/update-codegen.sh and commit the result." >&2
  exit 1
fi
echo "generated code is up to date."
