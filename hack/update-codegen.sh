#!/usr/bin/env bash
# Generates all code under pkg/apis and pkg/generated. Run it after a change to a type.
# A new kind needs no change here. A new group or version needs one line in VERSIONS.
set -o errexit -o nounset -o pipefail

ROOT="${ROOT:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)}"
BIN="${BIN:-${ROOT}/.local/bin}"
MODULE=kruise.io/kruise
GENERATED="${MODULE}/pkg/generated"

HUBS=(apps policy)
VERSIONS=(apps/v1alpha1 apps/v1beta1 policy/v1alpha1 policy/v1beta1)
SHARED=(pub)

# Kubernetes packages whose types our types use. Their OpenAPI models are served with ours.
MODELS=(
  k8s.io/api/apps/v1
  k8s.io/api/autoscaling/v1
  k8s.io/api/batch/v1
  k8s.io/api/core/v1
  k8s.io/apimachinery/pkg/api/resource
  k8s.io/apimachinery/pkg/apis/meta/v1
  k8s.io/apimachinery/pkg/runtime
  k8s.io/apimachinery/pkg/util/intstr
  k8s.io/apimachinery/pkg/version
)
# The same for protobuf. "-" means that the package already has its messages.
MESSAGES=(
  -k8s.io/apimachinery/pkg/util/intstr
  -k8s.io/apimachinery/pkg/api/resource
  -k8s.io/apimachinery/pkg/runtime/schema
  -k8s.io/apimachinery/pkg/runtime
  -k8s.io/apimachinery/pkg/apis/meta/v1
  -k8s.io/api/core/v1
  -k8s.io/api/apps/v1
  -k8s.io/api/batch/v1
)

# Fields whose JSON name violates the API conventions but is part of the contract.
NAMED_OTHERWISE=(
  "API rule violation: names_match,${MODULE}/pkg/apis/apps/v1alpha1,PodProbe,IP"
)

cd "${ROOT}"
SCRATCH="$(mktemp -d)"
trap 'rm -rf "${SCRATCH}"' EXIT
HEADER="${SCRATCH}/header.txt"
: > "${HEADER}"

main() {
  require_protoc
  build_generators
  say "clean"
  clean
  say "deepcopy, register, conversion, defaults"
  generate_helpers
  say "protobuf"
  generate_protobuf
  say "OpenAPI"
  generate_openapi
  say "apply configurations, clientset, listers, informers"
  generate_clients
}

say() { echo "codegen: $*"; }

packages() { # prefix, then names
  local prefix="$1"
  shift
  printf "${prefix}/pkg/apis/%s\n" "$@"
}

comma() { local IFS=,; echo "$*"; }

require_protoc() {
  command -v protoc > /dev/null && return
  if [[ "$(id -u)" == 0 ]] && command -v apt-get > /dev/null; then
    say "install protobuf-compiler"
    if apt-get update -qq && apt-get install -y -qq protobuf-compiler > /dev/null; then
      return
    fi
  fi
  echo "protoc is missing and cannot be installed: install protobuf-compiler (Debian) or protobuf (Homebrew), and run this again." >&2
  exit 1
}

build_generators() {
  say "build the generators"
  mkdir -p "${BIN}"
  go build -o "${BIN}/" \
    k8s.io/code-generator/cmd/{deepcopy-gen,register-gen,conversion-gen,defaulter-gen} \
    k8s.io/code-generator/cmd/{client-gen,lister-gen,informer-gen,applyconfiguration-gen} \
    k8s.io/code-generator/cmd/go-to-protobuf k8s.io/code-generator/cmd/go-to-protobuf/protoc-gen-gogo \
    k8s.io/kube-openapi/cmd/openapi-gen golang.org/x/tools/cmd/goimports
  export PATH="${BIN}:${PATH}"
}

# clean removes files that no generator overwrites: those of deleted kinds.
clean() {
  find pkg/apis -name 'zz_generated.*' -delete
  rm -rf pkg/generated/{applyconfiguration,clientset,informers,listers}
}

generate_helpers() {
  local served shared
  mapfile -t served < <(packages . "${VERSIONS[@]}")
  mapfile -t shared < <(packages . "${HUBS[@]}" "${SHARED[@]}")
  deepcopy-gen --go-header-file "${HEADER}" --output-file zz_generated.deepcopy.go "${shared[@]}" "${served[@]}"
  register-gen --go-header-file "${HEADER}" --output-file zz_generated.register.go "${served[@]}"
  conversion-gen --go-header-file "${HEADER}" --output-file zz_generated.conversion.go "${served[@]}"
  defaulter-gen --go-header-file "${HEADER}" --output-file zz_generated.defaults.go "${served[@]}"
}

# generate_protobuf creates the layout that go-to-protobuf needs: the checkout and the imported
# .proto files, each in a directory that ends in its import path.
generate_protobuf() {
  local checkout="${SCRATCH}/checkout" kubernetes="${SCRATCH}/kubernetes" gogo="${SCRATCH}/gogo" gogo_dir names
  gogo_dir="$(go list -m -f '{{.Dir}}' github.com/gogo/protobuf)"
  mkdir -p "${checkout}/$(dirname "${MODULE}")" "${kubernetes}/k8s.io" "${gogo}/github.com/gogo"
  ln -s "${ROOT}" "${checkout}/${MODULE}"
  ln -s "$(go list -m -f '{{.Dir}}' k8s.io/api)" "${kubernetes}/k8s.io/api"
  ln -s "$(go list -m -f '{{.Dir}}' k8s.io/apimachinery)" "${kubernetes}/k8s.io/apimachinery"
  ln -s "${gogo_dir}" "${gogo}/github.com/gogo/protobuf"
  mapfile -t names < <(packages "${MODULE}" "${SHARED[@]}" "${VERSIONS[@]}")
  go-to-protobuf --go-header-file "${HEADER}" --output-dir "${checkout}" \
    --packages "$(comma "${names[@]}")" --apimachinery-packages "$(comma "${MESSAGES[@]}")" \
    --proto-import "${kubernetes}" --proto-import "${gogo}" --proto-import "${gogo_dir}/protobuf"
}

generate_openapi() {
  local names readonly_packages=() model
  mapfile -t names < <(packages "${MODULE}" "${SHARED[@]}" "${VERSIONS[@]}")
  for model in "${MODELS[@]}"; do
    readonly_packages+=(--readonly-pkg "${model}")
  done
  mkdir -p pkg/generated/openapi
  openapi-gen --go-header-file "${HEADER}" --output-dir pkg/generated/openapi --output-pkg "${GENERATED}/openapi" \
    --output-file zz_generated.openapi.go --output-model-name-file zz_generated.model_name.go \
    --report-filename "${SCRATCH}/openapi-report" "${readonly_packages[@]}" "${MODELS[@]}" "${names[@]}"
  if grep "${MODULE}" "${SCRATCH}/openapi-report" | grep -vxF "$(printf '%s\n' "${NAMED_OTHERWISE[@]}")"; then
    echo "the types above violate the API conventions for names or list types: fix their tags and markers." >&2
    exit 1
  fi
}

# external_apply_configurations prints flags for the Kubernetes types that have an apply
# configuration in client-go: the types that ours use, directly or indirectly.
external_apply_configurations() {
  local version package
  for version in apps/v1 autoscaling/v1 batch/v1 core/v1; do
    package="k8s.io/client-go/applyconfigurations/${version}"
    grep -ohE '^type [A-Za-z0-9]+ApplyConfiguration struct' "$(go list -f '{{.Dir}}' "${package}")"/*.go |
      sed -E "s#type (.*)ApplyConfiguration struct#--external-applyconfigurations=k8s.io/api/${version}.\1:${package}#"
  done
}

generate_clients() {
  local names shared inputs=() external=() version schema="${SCRATCH}/models.json"
  mapfile -t names < <(packages "${MODULE}" "${VERSIONS[@]}")
  mapfile -t shared < <(packages "${MODULE}" "${SHARED[@]}")
  go run ./hack/modelsschema > "${schema}"
  mapfile -t external < <(external_apply_configurations)
  applyconfiguration-gen --go-header-file "${HEADER}" --openapi-schema "${schema}" \
    --output-dir pkg/generated/applyconfiguration --output-pkg "${GENERATED}/applyconfiguration" \
    "${external[@]}" \
    "${names[@]}" "${shared[@]}"
  for version in "${VERSIONS[@]}"; do
    inputs+=(--input "${version}")
  done
  client-gen --go-header-file "${HEADER}" --clientset-name versioned --input-base "${MODULE}/pkg/apis" "${inputs[@]}" \
    --apply-configuration-package "${GENERATED}/applyconfiguration" --prefers-protobuf \
    --output-dir pkg/generated/clientset --output-pkg "${GENERATED}/clientset"
  # client-gen expects the apply configuration of Scale beside ours, but it is in client-go.
  grep -rl "${GENERATED}/applyconfiguration/autoscaling" pkg/generated/clientset |
    xargs sed -i "s#${GENERATED}/applyconfiguration/autoscaling#k8s.io/client-go/applyconfigurations/autoscaling#"
  lister-gen --go-header-file "${HEADER}" --output-dir pkg/generated/listers --output-pkg "${GENERATED}/listers" "${names[@]}"
  informer-gen --go-header-file "${HEADER}" --versioned-clientset-package "${GENERATED}/clientset/versioned" \
    --listers-package "${GENERATED}/listers" --output-dir pkg/generated/informers --output-pkg "${GENERATED}/informers" "${names[@]}"
}

main "$@"
