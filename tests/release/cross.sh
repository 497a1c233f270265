#!/usr/bin/env bash
# Builds the files for other platforms of Linux than this one, and tries each program that can run here.
# Run: tests/release/cross.sh FOLDER [PLATFORM...]     platforms: linux-x64-musl linux-arm64-gnu linux-arm64-musl [all]
# Needs Rust by rustup, Python 3.10 and the package registries. A program for arm64 is tried if `qemu-aarch64-static` or
# `qemu-aarch64` is installed, and is named as untried otherwise.
set -euo pipefail
mkdir -p "$1"
built=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- linux-x64-musl linux-arm64-gnu linux-arm64-musl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TREERING_STORE TREERING_TRUST

# Stores and finds a fact with the program of an archive. The words behind it run the program.
try() {
  local archive=$1 store="$work/memory"
  shift
  rm -rf "$work"/*
  tar -xzf "$archive" -C "$work" --strip-components=1
  "$@" "$work/treering" --store "$store" init >/dev/null
  "$@" "$work/treering" --store "$store" remember 'Deploys happen on Friday at 15:00' >/dev/null
  "$@" "$work/treering" --store "$store" recall 'When do we ship?' --json | grep -q Friday
  "$@" "$work/treering" --store "$store" verify
}

emulator=$(command -v qemu-aarch64-static qemu-aarch64 | head -1 || true)
for platform in "$@"; do
  machine=$([[ $platform = linux-x64-* ]] && echo x86_64 || echo aarch64)
  target="$machine-unknown-linux-${platform##*-}"
  packaging/build.sh "$platform" "$built" "$target"
  archive=$(find "$built" -name "treering-*-$target.tar.gz")
  if [ "$machine" = "$(uname -m)" ]; then
    try "$archive"
  elif [ "$target" = aarch64-unknown-linux-musl ] && [ -n "$emulator" ]; then
    try "$archive" "$emulator"
  elif [ -n "$emulator" ] && [ -d /usr/aarch64-linux-gnu ]; then
    try "$archive" "$emulator" -L /usr/aarch64-linux-gnu
  else
    echo "$platform: built, and not tried: no emulator, or no C library for it"
  fi
  stat -c '%n: %s bytes' "$archive" "$built"/treering-*linux*"$machine.whl" "$built/$platform.node"
done
