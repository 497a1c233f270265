#!/usr/bin/env bash
# Builds the native module and the package, and runs the tests and the type checker on them.
# Needs Rust, Node 20 or later with npm, and the package registries. The first run installs the tools; later runs are quick.
#
#   javascript/check.sh            everything
#   javascript/check.sh --build    only build the package
#
# The native module is built in the development profile: its dependencies are optimised, and the code of Treering is not. Set
# TREERING_JS_PROFILE=release for one to publish or to measure.
set -euo pipefail
cd "$(dirname "$0")"

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
profile="${TREERING_JS_PROFILE:-dev}"
built="$CARGO_TARGET_DIR/$([ "$profile" = dev ] && echo debug || echo "$profile")"

# The tools are installed again only if the list changed.
if ! cmp -s package.json node_modules/.treering-package.json; then
  npm install --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error
  cp package.json node_modules/.treering-package.json
fi
cargo build --profile "$profile" --locked --quiet
cp "$built"/libtreering_node.so treering.node 2>/dev/null || cp "$built"/libtreering_node.dylib treering.node
rm -rf dist
npx tsc -p .
[ "${1:-}" != --build ] || exit 0

# The types are those of the library that was built.
node generate.mjs --check
cargo fmt --check
cargo clippy --profile "$profile" --locked --lib --quiet -- -D warnings
npx tsc -p tests
node --test --test-reporter=dot tests/*.test.mjs
