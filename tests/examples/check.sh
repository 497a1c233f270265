#!/usr/bin/env bash
# Runs what the pages about examples show and the normal tests cannot run: the commands of docs/guide/mcp-sdks.md with the
# official SDKs, and examples/openai against a small server on this machine that speaks the protocol. Needs python3, node
# and the registries of Python, Node and Rust. Run from anywhere: tests/examples/check.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/treering}")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT

# The page's commands run in a copy of the examples, so that nothing is installed into the repository.
mkdir -p "$work/repository/examples" "$work/bin"
cp -r examples/mcp "$work/repository/examples/mcp"
ln -s "$program" "$work/bin/treering"
commands=$(awk '/^```/ { inside = ($0 == "```sh") ; next } inside' docs/guide/mcp-sdks.md)
[ "$(grep -c 'serve --mcp' <<<"$commands")" = 2 ] || { echo "the page has other commands" >&2; exit 1; }
(cd "$work/repository" && PATH="$work/bin:$PATH" bash -euxo pipefail -c "$commands") | tee "$work/out"
for line in 'before undo: The office is on the moon.' 'after undo: The office is in Oslo.'; do
  [ "$(grep -cF "$line" "$work/out")" = 2 ] || { echo "not printed twice: $line" >&2; exit 1; }
done

# The real-model example: the server's first answer contradicts nothing but is no JSON, so the turn is rolled back once.
python3 tests/examples/completions.py "$work/port" "$work/requests" &
server=$!
until [ -s "$work/port" ]; do
  kill -0 "$server"
  sleep 0.1
done
OPENAI_API_KEY=sk-example cargo run -q --release --locked --manifest-path examples/openai/Cargo.toml -- \
  --model test-model --base-url "http://127.0.0.1:$(cat "$work/port")/v1" --store "$work/store" \
  'Where is the office?' 'Where is the office now?' | tee "$work/openai"
grep -q 'refused: it is not the JSON object' "$work/openai"
grep -q '^In Oslo\.$' "$work/openai"
"$program" --store "$work/store" recall 'where is the office' | grep -q 'The office is in Oslo'
# The second question's envelope has the fact of the first turn, and the reason of the rollback was told to the model.
python3 - "$work/requests" <<'PYTHON'
import json, sys
requests = [json.loads(line) for line in open(sys.argv[1])]
assert len(requests) == 3, len(requests)
users = [request["messages"][1]["content"] for request in requests]
assert all([m["role"] for m in request["messages"]] == ["system", "user"] for request in requests)
assert "taken back" not in users[0] and "taken back" in users[1], users
assert "The office is in Oslo." in users[2] and "<memory" in users[2], users[2]
PYTHON
echo "examples: 2 SDKs, 2 turns with a server, all as their pages say"
