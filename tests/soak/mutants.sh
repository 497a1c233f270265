#!/usr/bin/env bash
# A fixed sample of the changes that cargo-mutants makes in codec, log, trie and store; the tests of the core must see
# nine of ten. Each change is built and tested alone, until the first test fails.
#
#   tests/soak/mutants.sh [SHARD]      # one of ten shards, about 300 changes: 0/10 by default; hours
#
# Needs cargo-mutants. What was caught, missed, and does not compile is in target/mutants/mutants.out.
set -euo pipefail
cd "$(dirname "$0")/../.."

runner=$(mktemp)
trap 'rm -f "$runner"' EXIT
# libtest stops at the first failure only behind an unstable option, which this variable allows to a stable one.
cat >"$runner" <<'RUN'
#!/usr/bin/env bash
program=$1
shift
exec env RUSTC_BOOTSTRAP=1 "$program" "$@" -Zunstable-options --fail-fast codec:: trie:: store:: log:: campaign
RUN
chmod +x "$runner"
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
export "CARGO_TARGET_${host}_RUNNER=$runner"
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_TEST_DEBUG=0

mkdir -p target/mutants
status=0
cargo mutants --sharding round-robin --shard "${1:-0/10}" --output target/mutants || status=$?
[ "$status" = 0 ] || [ "$status" = 2 ] || [ "$status" = 3 ] || exit "$status"

cd target/mutants/mutants.out
caught=$(cat caught.txt timeout.txt | wc -l)
missed=$(wc -l <missed.txt)
echo "$caught caught, $missed missed, $(wc -l <unviable.txt) do not compile"
[ $((caught * 10)) -ge $(((caught + missed) * 9)) ]
