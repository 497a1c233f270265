#!/usr/bin/env bash
# Each fuzz target for a share of processor time, added up in the ledger of `cargo soak`.
#
#   fuzz/soak.sh [SECONDS] [TARGET...]     # 1800 seconds for each of all targets by default
#
# Goes on from the corpus of the run before, in pieces of two minutes, until the ledger holds SECONDS of processor time
# of these sources for the target. `cargo soak report` adds up. Needs the nightly toolchain and cargo-fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=${1:-1800}
shift || true
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  mapfile -t targets < <(cargo +nightly fuzz list)
fi
ledger=${LEDGER:-target/soak.jsonl}
piece=120
sources=$(git rev-parse --short=12 HEAD)
[ -z "$(git status --porcelain src fuzz)" ] || sources=$sources+
mkdir -p "$(dirname "$ledger")"
touch "$ledger"

# The processor seconds that the ledger holds for target $1, and how many pieces.
done_so_far() {
  grep -F "\"what\":\"fuzz $1\"" "$ledger" | grep -F "\"sources\":\"$sources\"" \
    | sed -n 's/.*"processor_seconds":\([0-9]*\).*/\1/p' | awk '{ sum += $1; pieces++ } END { print sum + 0, pieces + 0 }'
}

for target in "${targets[@]}"; do
  while read -r spent pieces < <(done_so_far "$target") && [ "$spent" -lt "$wanted" ]; do
    said=$(mktemp)
    failure=null
    TIMEFORMAT='%U %S %R'
    { time cargo +nightly fuzz run "$target" -- -max_total_time="$piece" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
      >"$said" 2>&1 || failure='"see fuzz/artifacts"'; } 2>"$said.time"
    read -r user system real <"$said.time"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$said")
    printf '{"what":"fuzz %s","number":%d,"sources":"%s","seconds":%.1f,"counts":{"processor_seconds":%.0f,"runs":%d},"failure":%s}\n' \
      "$target" "$pieces" "$sources" "$real" "$(awk "BEGIN { print $user + $system }")" "${runs:-0}" "$failure" >>"$ledger"
    tail -n 1 "$ledger"
    [ "$failure" = null ] || { tail -n 40 "$said" >&2; exit 1; }
    rm -f "$said" "$said.time"
  done
done
