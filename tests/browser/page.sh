#!/usr/bin/env bash
# Tries the page of `treering serve --ui` in a headless Chromium as a person would: finds a bad turn with the mouse alone, looks
# at hostile texts, measures a large store, and runs axe-core on every view. Screenshots are left in FOLDER.
# Needs Chromium (`apt-get install chromium`, or BROWSER=/path/to/chrome), node and its package registry, so it is not
# part of `cargo test`. Run: tests/browser/page.sh [PROGRAM] [FOLDER] [PART...]
# PART is one of decide, find, hostile, large, axe, shots; without one, all of them. FOLDER keeps packages and stores for the next run.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
program=$(realpath "${1:-target/release/treering}")
work=${2:-$(mktemp -d)}
shift $(($# < 2 ? $# : 2))
mkdir -p "$work"
work=$(realpath "$work")
export BROWSER=${BROWSER:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$BROWSER" ] || { echo "no Chromium found: install it, or set BROWSER" >&2; exit 2; }
cd "$work"
test -d node_modules/puppeteer-core || npm install --silent --no-fund --no-audit puppeteer-core@25 axe-core@4
cp "$here"/page.mjs "$here"/page_stores.mjs "$here"/page_texts.mjs "$work/"
node "$work/page.mjs" "$program" "$work" "$@"
