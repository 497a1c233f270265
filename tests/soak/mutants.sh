#!/usr/bin/env bash
# A fixed sample of the changes that cargo-mutants makes in codec, log, trie and store; the tests of the core must see
# nine of ten. Each change is built and tested alone, until the first test fails: first by the tests that are quick
# without optimisation, then, if none of these saw it, by the others, those of the engine too.
#
#   tests/soak/mutants.sh [SHARD]      # one of ten shards, about 300 changes: 0/10 by default; hours
#
# Needs cargo-mutants. A run that was cut off goes on with what was not caught yet. What was missed
# is in target/mutants/0-of-10/mutants.out/missed.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

shard=${1:-0/10}
out=target/mutants/${shard//\//-of-}
runner=$(mktemp)
trap 'rm -f "$runner"' EXIT
# libtest stops at the first failure only behind an unstable option, which this variable allows to a stable one.
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

# Keeps what was caught until now: the next pass passes over it together with what does not compile, as if that were one.
note_caught() {
  cat "$out"/mutants.out/{caught,timeout}.txt 2>/dev/null >>"$out/caught.txt" || true
}

# One pass over what was not caught before: optimisation $1, tests $2.
pass() {
  local status=0
  note_caught
  CARGO_PROFILE_DEV_OPT_LEVEL=$1 TESTS_OF_MUTANTS=$2 \
    cargo mutants --iterate --sharding round-robin --shard "$shard" --output "$out" || status=$?
  # 2 and 3: something was missed, or took too long.
  [ "$status" = 0 ] || [ "$status" = 2 ] || [ "$status" = 3 ]
}

mkdir -p "$out"
slow="presence_and_absence log::tests::crash log::tests::damage log::tests::salvage trie::tests::memory trie::tests::check tri_ ckp_1_"
pass 0 "codec:: trie:: store:: log:: $(printf -- '--skip %s ' $slow)"
pass 1 "codec:: trie:: store:: log:: engine:: campaign --skip engine::tests::damage --skip model_test"

note_caught
caught=$(sort -u "$out/caught.txt" | wc -l)
missed=$(wc -l <"$out/mutants.out/missed.txt")
echo "$caught caught, $missed missed"
[ $((caught * 10)) -ge $(((caught + missed) * 9)) ]
