#!/usr/bin/env bash
# Runs the apiserver of another revision with the controller of this one, and the other way round, and reads objects of this revision
# with the apiserver of the other one. usage: skew.sh [REVISION]. Without an argument, it is the last tag, or 50 commits before main.
set -euo pipefail
cd "$(dirname "$0")/.."

revision=${1:-$(git describe --tags --abbrev=0 2>/dev/null || git rev-parse main~50)}
work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/tree" "$revision"
echo "building the programs of $(git -C "$work/tree" log -1 --format='%h %s')" >&2
for program in apiserver controller; do
  (cd "$work/tree" && go build -o "$work/$program" "./cmd/$program")
done
SKEW_PROGRAMS=$work go test -tags 'integration skew' -count=1 -timeout 20m -v \
  -run 'TestRevisionsWorkTogether|TestObjectsSurviveARollback' ./test/integration/
