#!/usr/bin/env bash
# Takes the picture of the live view in README.md again: a rollout of the example on the cluster of "make up build", on a terminal of 80
# columns. It takes the screen on which one Pod is left to update.
set -euo pipefail
cd "$(dirname "$0")/.."
export KUBECONFIG=$PWD/.local/kubeconfig PATH=$PWD/.local/bin:$PWD/bin:$PATH

folder=$(mktemp -d)
terminal() { tmux -S "$folder/socket" "$@"; }
trap 'terminal kill-server 2>/dev/null || true; rm -rf "$folder"' EXIT
update() {
  kubectl kruise set image cloneset/demo "demo=kruise.local/demo:$1" >/dev/null
}

# The picture is the code block of README.md that begins with the name of the CloneSet.
picture() {
  awk -v screen="$folder/screen" '
    function picture(  line, lines, n, last, i) {
      while ((getline line < screen) > 0) { lines[++n] = line; if (line != "") last = n }
      for (i = 1; i <= last; i++) print lines[i]
    }
    /^CloneSet default\/demo$/ { picture(); skipping = 1 }
    /^```$/ { skipping = 0 }
    !skipping' README.md >"$folder/README.md"
  cat "$folder/README.md" >README.md
}

terminal -f /dev/null new-session -d -x 80 -y 24 'kubectl kruise rollout watch cloneset/demo'
for image in v1 v2 v1 v2 v1 v2 v1 v2; do
  update "$image"
  for _ in $(seq 100); do
    terminal capture-pane -p >"$folder/screen"
    if grep -q '^updated .* 2 of 3$' "$folder/screen" && grep -q 'being updated in place' "$folder/screen"; then
      picture
      exit 0
    fi
    sleep 0.05
  done
  kubectl kruise rollout status cloneset/demo --timeout=2m >/dev/null
done
echo 'the live view has shown no screen with one Pod left and its reason; run this script again' >&2
exit 1
