#!/bin/sh
# Installs the program `treering` from the archive of a release, after a check of its SHA-256. Needs no compiler.
#
#   TREERING_FROM=ADDRESS sh install.sh
#
#   TREERING_FROM     a folder, or the address of one, with the archives and SHA256SUMS
#   TREERING_BIN      the folder of the program; ~/.local/bin without it
#   TREERING_TARGET   the archive, such as x86_64-unknown-linux-musl; that of this machine without it
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

target_of_this_machine() {
  case "$(uname -m)" in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no archive for $(uname -m): build the program with cargo" ;;
  esac
  case "$(uname -s)" in
    Darwin) echo "$machine-apple-darwin" ;;
    Linux)
      # The static program for musl works everywhere. With glibc, its own is faster.
      if [ -e "/lib/ld-musl-$machine.so.1" ] || ! grep -q "treering-.*-$machine-unknown-linux-gnu.tar.gz" "$1"; then
        echo "$machine-unknown-linux-musl"
      else
        echo "$machine-unknown-linux-gnu"
      fi
      ;;
    *) fail "there is no archive for $(uname -s): build the program with cargo" ;;
  esac
}

# Copies a file of the release.
get() {
  case "$from" in
    http://* | https://*)
      if command -v curl >/dev/null; then
        curl -fsSL --retry 2 -o "$2" "$from/$1" || fail "$from/$1 cannot be downloaded"
      else
        wget -q -O "$2" "$from/$1" || fail "$from/$1 cannot be downloaded"
      fi
      ;;
    *) cp "$from/$1" "$2" || fail "$from has no file $1" ;;
  esac
}

sum_of() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  else
    shasum -a 256 "$1"
  fi | cut -d ' ' -f 1
}

from=${TREERING_FROM:-}
from=${from%/}
[ -n "$from" ] || fail "set TREERING_FROM to the folder or the address of a release"
bin=${TREERING_BIN:-$HOME/.local/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

get SHA256SUMS "$work/SHA256SUMS"
target=${TREERING_TARGET:-$(target_of_this_machine "$work/SHA256SUMS")}
line=$(grep -E "^[0-9a-f]{64} [ *]treering-[0-9][0-9A-Za-z.+-]*-$target\.tar\.gz$" "$work/SHA256SUMS") || fail "the release has no archive for $target"
[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "the release has several archives for $target"
sum=${line%% *}
archive=${line##*[ *]}
get "$archive" "$work/$archive"
[ "$(sum_of "$work/$archive")" = "$sum" ] || fail "the SHA-256 of $archive is not that of SHA256SUMS, so nothing was installed"

tar -xzf "$work/$archive" -C "$work"
mkdir -p "$bin"
# A program that runs is replaced as a whole.
cp "$work/${archive%.tar.gz}/treering" "$bin/.treering-new"
chmod 755 "$bin/.treering-new"
mv "$bin/.treering-new" "$bin/treering"
echo "installed $("$bin/treering" --version) in $bin"
case ":$PATH:" in
  *":$bin:"*) ;;
  *) echo "add $bin to PATH to run it as treering" ;;
esac
