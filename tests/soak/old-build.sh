#!/usr/bin/env bash
# Builds an older commit and checks that it reads what this build writes: a store without forks as ever, and a store
# with forks not at all (code `unsupported_format`), because it would read a part of it wrongly.
#
#   tests/soak/old-build.sh [COMMIT]      # the last commit before forks by default; ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."

commit=${1:-4996a276}
# Outside of this folder, whose Cargo.toml would count it as a part of the workspace.
out=${TMPDIR:-/tmp}/treering-old-build-$commit
rm -rf "$out/source"
mkdir -p "$out/source"
git archive "$commit" | tar -x -C "$out/source"
(cd "$out/source" && CARGO_TARGET_DIR="$out/target" cargo build --quiet --bin treering)
cargo build --quiet --bin treering
old=$out/target/debug/treering
new=$PWD/target/debug/treering
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TREERING_STORE TREERING_FORK

# Prints the code of the error of a command that must fail.
refused() {
  if "$@" >"$work/out" 2>"$work/error"; then
    echo "$* was not refused" >&2
    return 1
  fi
  grep -o '"code":"[a-z_]*"' "$work/error"
}

for store in plain forked; do
  "$new" --store "$work/$store" init >/dev/null
  for number in 1 2 3; do
    "$new" --store "$work/$store" put a --kind note --content "text $number" >/dev/null
  done
done
"$new" --store "$work/forked" fork task >/dev/null
"$new" --store "$work/forked" --fork task put b --kind note --content "of the fork" >/dev/null

"$old" --store "$work/plain" --json get a | grep -q '"text 3"'
"$old" --store "$work/plain" verify >/dev/null
"$old" --store "$work/plain" put c --kind note --content "by the old build" >/dev/null
"$new" --store "$work/plain" --json get c | grep -q '"by the old build"'
for verb in "get a" "verify" "put d --kind note" "salvage $work/forked $work/saved"; do
  # shellcheck disable=SC2086 # The verb and its arguments are words.
  code=$(refused "$old" --store "$work/forked" --json $verb)
  [ "$code" = '"code":"unsupported_format"' ] || { echo "$verb: $code" >&2; exit 1; }
done
"$new" --store "$work/forked" --fork task --json get b | grep -q '"of the fork"'
echo "the build of $commit reads stores without forks, and refuses stores with forks"
