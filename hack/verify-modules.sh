#!/usr/bin/env bash
# Checks that our programs and those of the local cluster link the same version of each module. Go then compiles a package once for
# all of them. Compiling two versions of the modules of Kubernetes doubles the time of the first "make up".
set -euo pipefail
cd "$(dirname "$0")/.."

linked='{{with .Module}}{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}{{end}}'
ours=$(for tags in '' integration e2e; do go list -deps -test -tags "$tags" -f "$linked" ./...; done | sort -u)
theirs=$(cd hack/localcluster/binaries && go list -deps -f "$linked" tool | sort -u)
different=$(join <(echo "$ours") <(echo "$theirs") | awk '$2 != $3 {print $1 ": " $2 " in go.mod, " $3 " in hack/localcluster/binaries/go.mod"}')
if [[ -n $different ]]; then
  printf 'require the same versions in both modules, with "go get MODULE@VERSION" in the module that has the older one:\n%s\n' "$different" >&2
  exit 1
fi
echo "our programs and those of the local cluster link the same version of each module."
