#!/usr/bin/env bash
# Runs a fixed sample of the mutants that cargo-mutants generates in codec, log, trie and store. The tests of these
# modules and of the engine must detect nine of ten. Each mutant is built and tested alone, until the first test fails.
# The first pass runs the tests that are fast without optimisation. The second pass runs the other tests on the mutants
# that the first pass missed.
#
#   tests/soak/mutants.sh [SHARD]      # one of ten shards, about 300 changes: 0/10 by default; hours
#
# JOBS=N tests N mutants at the same time. A test that takes too long counts as failed, so run nothing else meanwhile.
# Needs cargo-mutants. An interrupted run continues where it stopped. The missed mutants are in
# target/mutants/0-of-10/missed-1.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

shard=${1:-0/10}
out=target/mutants/${shard//\//-of-}
runner=$(mktemp)
trap 'rm -f "$runner"' EXIT
# Only an unstable option makes libtest stop at the first failure. RUSTC_BOOTSTRAP permits it with a stable compiler.
cat >"$runner" <<'RUN'
#!/usr/bin/env bash
program=$1
shift
exec env RUSTC_BOOTSTRAP=1 "$program" "$@" -Zunstable-options --fail-fast $TESTS_OF_MUTANTS
RUN
chmod +x "$runner"
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
export "CARGO_TARGET_${host}_RUNNER=$runner"
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0

# Adds the results of the last run of pass $1 to the collected results.
settle() {
  local of_pass=$out/$1/mutants.out
  [ -d "$of_pass" ] || return 0
  cat "$of_pass"/{caught,timeout}.txt >>"$out/caught.txt"
  cat "$of_pass/unviable.txt" >>"$out/unviable.txt"
  cat "$of_pass/missed.txt" >>"$out/missed-$1.txt"
  rm -r "$of_pass"
}

# Tests all mutants without a result, with optimisation level $1 and tests $2.
pass() {
  local status=0 change todo=()
  touch "$out"/{caught,unviable,"missed-$1"}.txt
  settle "$1"
  while read -r change; do
    todo+=(--re "^$change\$")
  done < <(grep -vxFf <(cat "$out"/{caught,unviable,"missed-$1"}.txt) "$out/sample.txt" | sed 's/[].*+?(){}|^$\\[]/\\&/g')
  [ ${#todo[@]} = 0 ] && return
  CARGO_PROFILE_DEV_OPT_LEVEL=$1 TESTS_OF_MUTANTS=$2 cargo mutants --jobs "${JOBS:-1}" "${todo[@]}" --output "$out/$1" || status=$?
  settle "$1"
  # Exit codes 2 and 3: a mutant was missed, or a test took too long.
  [ "$status" = 0 ] || [ "$status" = 2 ] || [ "$status" = 3 ]
}

mkdir -p "$out"/{0,1}
cargo mutants --list --sharding round-robin --shard "$shard" >"$out/sample.txt"
slow="presence_and_absence log::tests::crash log::tests::damage log::tests::salvage trie::tests::memory trie::tests::check tri_ ckp_1_
  engine::tests::damage engine::tests::gc:: random_histories figures a9_ opened_by_a_checkpoint whatever_bit a_crash_at_any_call"
pass 0 "codec:: trie:: store:: log:: engine:: $(printf -- '--skip %s ' $slow)"
pass 1 "codec:: trie:: store:: log:: engine:: campaign --skip engine::tests::damage --skip model_test"

number_of() {
  sort -u "$out/$1.txt" | grep -cxFf "$out/sample.txt" || true
}
caught=$(number_of caught)
missed=$(number_of missed-1)
echo "$caught caught, $missed missed, $(number_of unviable) do not compile"
[ $((caught * 10)) -ge $(((caught + missed) * 9)) ]
