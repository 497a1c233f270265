#!/usr/bin/env bash
# Installs each file of a release that this machine can run, and finds a first fact with it: tests/release/install.sh FOLDER
# Each has a fresh folder, an empty HOME, and a PATH without a compiler, and uses no network. The commands are those of the
# table in docs/guide/installing.md. Needs Python 3.10, Node 20 or a shell; a file whose tool is missing is named.
# TREERING_UV names uv, if it is not in PATH. Prints sizes and times.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
built=$(cd "$1" && pwd)
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)' 2>/dev/null || true)
node=$(command -v node || true)
uv=${TREERING_UV:-$(command -v uv || true)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
machine=$(uname -m)
libc=gnu
[ ! -e "/lib/ld-musl-$machine.so.1" ] || libc=musl
platform="linux-$([ "$machine" = x86_64 ] && echo x64 || echo arm64)-$libc"
mkdir "$work/tools"
for tool in node npm npx; do
  [ -z "$node" ] || ln -s "$(command -v $tool)" "$work/tools/$tool"
done
export PATH="$work/tools:/usr/local/bin:/usr/bin:/bin"
unset TREERING_STORE TREERING_TRUST TREERING_MODEL PYTHONPATH NODE_PATH CARGO_HOME RUSTUP_HOME
! command -v cargo rustc || { echo "a compiler is in PATH, so this would prove little" >&2; exit 1; }
tried=0

# Runs the command that the page has for somebody with this tool.
shown() {
  local command
  command=$(sed -n "s/^| $1 | \`\(.*\)\` | .*/\1/p" "$repository/docs/guide/installing.md")
  [ -n "$command" ] || { echo "the page has no command for: $1" >&2; exit 1; }
  bash -euo pipefail -c "${command//linux-x64-gnu/$platform}"
}

# Runs the function `install_NAME` in a fresh folder, with a time limit, and prints the time of the command it sets.
try() {
  local name=$1 file=$2 begun spent best
  export HOME="$work/$name/home"
  mkdir -p "$HOME" "$work/$name/project"
  cd "$work/$name/project"
  ln -s "$built" built
  begun=$(date +%s%N)
  "install_$name" "$file"
  "${treering[@]}" remember 'The office is in Oslo' --store memory >/dev/null
  "${treering[@]}" recall 'where is the office' --store memory | grep -q 'The office is in Oslo'
  spent=$((($(date +%s%N) - begun) / 1000000))
  [ "$spent" -le 15000 ] || { echo "$name: install and first recall took $spent ms" >&2; exit 1; }
  best=1000000
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    begun=$(date +%s%N)
    "${treering[@]}" --version >/dev/null
    begun=$((($(date +%s%N) - begun) / 100000))
    [ "$begun" -ge "$best" ] || best=$begun
  done
  printf '%-8s %5.1f MB, install and first recall %5d ms, --version %d.%d ms\n' "$name" \
    "$(($(wc -c <"$file") / 100000))e-1" "$spent" $((best / 10)) $((best % 10))
  [ "$(wc -c <"$file")" -le 30000000 ] || { echo "$file has more than 30 MB" >&2; exit 1; }
  tried=$((tried + 1))
}

install_archive() {
  TREERING_TARGET="$machine-unknown-linux-$libc" shown "a shell"
  treering=("$HOME/.local/bin/treering")
  # A damaged archive is refused, and what is installed stays.
  mkdir bad
  cp "$built/SHA256SUMS" bad
  (cat "$1"; echo) >"bad/$(basename "$1")"
  ! TREERING_FROM="$PWD/bad" TREERING_TARGET="$machine-unknown-linux-$libc" sh "$repository/packaging/install.sh" 2>bad/error
  grep -q 'SHA-256' bad/error
  "${treering[@]}" --version >/dev/null
}

install_wheel() {
  "$python" -m venv venv
  PATH="$PWD/venv/bin:$PATH" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 shown "Python 3.10 or later"
  venv/bin/python - <<'PYTHON'
import treering

with treering.open("module") as agent:
    agent.remember("The office is in Oslo")
    assert agent.recall("where is the office")[0].snippet == "The office is in Oslo"
PYTHON
  treering=("$PWD/venv/bin/treering")
}

install_uv() {
  ln -s "$uv" "$work/tools/uv"
  UV_OFFLINE=1 UV_PYTHON="$python" shown "uv"
  treering=("$HOME/.local/bin/treering")
}

install_uvx() {
  treering=("$uv" tool run --offline --python "$python" --from "$1" treering)
}

install_npm() {
  echo '{"private":true}' >package.json
  npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_loglevel=error npm_config_update_notifier=false shown "Node 20.3 or later"
  cat >first.mjs <<'NODE'
import { open } from "treering";
const agent = await open("module");
await agent.remember("The office is in Oslo");
const { hits } = await agent.recall("where is the office");
if (hits[0].snippet !== "The office is in Oslo") throw new Error("not found");
NODE
  node first.mjs
  treering=(npx treering)
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}' |
    npx treering serve --mcp --store memory | grep -q '"name":"treering"'
}

# Tries the file of the pattern, if it and its tool are there.
each() {
  local name=$1 tool=$2 file
  file=$(find "$built" -maxdepth 1 -name "$3" | head -1)
  if [ -z "$file" ] || [ -z "$tool" ]; then
    echo "$name: not tried: $([ -n "$file" ] && echo 'its tool is missing' || echo "no file $3")"
  else
    try "$name" "$file"
  fi
}

wheel="treering-*-$([ $libc = gnu ] && echo manylinux || echo musllinux)*_$machine.whl"
each archive sh "treering-*-$machine-unknown-linux-$libc.tar.gz"
each wheel "$python" "$wheel"
each uv "$uv" "$wheel"
each uvx "$uv" "$wheel"
each npm "$node" "treering-$platform-*.tgz"
[ "$tried" -gt 0 ] || { echo "$built has no file for this machine" >&2; exit 1; }
