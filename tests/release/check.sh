#!/usr/bin/env bash
# Makes a release candidate out of a fresh clone of the last commit, in a temporary folder. Publishes nothing. Needs the
# registries, Node 20 and Python. Run: tests/release/check.sh [FOLDER]
# - Packages the crates, builds and installs the program from these packages alone, and runs its tour.
# - Builds the archive, the wheel and the npm packages of this platform, installs each as a user does, and recalls a fact.
# - The check of the Python package tests the wheel.
# FOLDER, which must be empty or missing, keeps the results; without it, they are removed. TREERING_RELEASE_TARGET names a
# folder of an earlier build whose dependencies are used again, to try the script in less time.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
[ -n "${1:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
[ -z "$(ls -A "$work")" ] || { echo "$work is not empty" >&2; exit 1; }
work=$(cd "$work" && pwd)
unset TREERING_STORE TREERING_TRUST
# Nothing that an earlier build left is used, except the toolchain and the downloaded sources of the dependencies.
own_home=$HOME
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
export CARGO_TARGET_DIR="${TREERING_RELEASE_TARGET:-$work/target}" HOME="$work/home"
mkdir -p "$HOME"

git clone -q "$repository" "$work/clone"
cd "$work/clone"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
python_version=$(sed -n 's/^version = "\(.*\)"/\1/p' python/Cargo.toml | head -1)
[ "$python_version" = "$version" ] || { echo "python/Cargo.toml has the version $python_version, not $version" >&2; exit 1; }
grep -q "^## $version" docs/changelog.md || { echo "docs/changelog.md has no section for $version" >&2; exit 1; }

# Without --no-verify, cargo would build the package in another profile than the one that is installed below.
cargo package -q --workspace --locked --no-verify
mkdir "$work/package"
patches=()
for name in treering-text treering-model-layers treering-model-table treering-model treering treering-program; do
  crate="$CARGO_TARGET_DIR/package/$name-$version.crate"
  tar -xzf "$crate" -C "$work/package"
  folder="$work/package/$name-$version"
  for file in LICENSE-APACHE Cargo.lock src/lib.rs; do
    [ -s "$folder/$file" ] || { echo "the package $name has no $file" >&2; exit 1; }
  done
  bytes=$(stat -c %s "$crate")
  echo "package $name: $bytes bytes, $(find "$folder" -type f | wc -l) files"
  # The weights of the model are in two packages, because the registry takes at most 10 MB.
  case $name in treering-model-*) bytes_max=10000000 ;; *) bytes_max=3000000 ;; esac
  [ "$bytes" -lt $bytes_max ] || { echo "the package $name is too large; see include in its Cargo.toml" >&2; exit 1; }
  # The registry has none of them yet.
  patches+=(--config "patch.crates-io.$name.path='$folder'")
done

cd "$work/package/treering-program-$version"
cargo install -q --path . --root "$work/installed" "${patches[@]}"
cd "$HOME"
export PATH="$work/installed/bin:$PATH"
[ "$(treering --version)" = "treering $version" ]
treering tour >"$work/tour.txt"
treering --store memory init >/dev/null
treering --store memory remember 'The office is in Oslo' >/dev/null
treering --store memory recall 'where is the office' --json | grep -q Oslo
treering --store memory verify
echo "program: $version installed from the package, tour and first steps run"

cd "$work/clone"
export HOME="$own_home"
platform="linux-$([ "$(uname -m)" = x86_64 ] && echo x64 || echo arm64)-gnu"
packaging/build.sh "$platform" "$work/built"
(cd javascript && npm install --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error && npx tsc -p .)
node javascript/pack.mjs --native "$work/built/$platform.node" --platform "$platform" --out "$work/npm"
mv "$work"/npm/*.tgz "$work/built"
rm "$work/built/$platform.node"
packaging/checksums.sh "$work/built"
# cargo binstall finds the archive by the name in Cargo.toml.
triple=$(rustc -vV | sed -n 's/^host: //p')
named=$(sed -n 's/^pkg-url = ".*\/\(.*\)"/\1/p' program/Cargo.toml | sed "s/{ name }/treering/; s/{ version }/$version/g; s/{ target }/$triple/g")
[ -f "$work/built/$named" ] || { echo "cargo binstall looks for $named, which is not built" >&2; exit 1; }
tests/release/install.sh "$work/built"

python/check.sh
