#!/usr/bin/env bash
# Opens the page of `treering export --format html` in a headless Chromium: are the pictures drawn, can one look
# around in them, and does text of a memory stay text? Screenshots are left in the folder that it names.
# Needs Chromium: `apt-get install chromium`, or BROWSER=/path/to/chrome. Not part of `cargo test`.
set -euo pipefail
cd "$(dirname "$0")/../.."

browser=${BROWSER:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$browser" ] || { echo "no Chromium found: install it, or set BROWSER" >&2; exit 2; }
cargo build --release --quiet
treering=${CARGO_TARGET_DIR:-target}/release/treering
work=$(mktemp -d)
export TREERING_STORE=$work/store

page() {
  "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$work/profile" "$@" 2>/dev/null
}

failed=0
# Does the page at the place $1, as the script leaves it, hold the words $2?
holds() {
  if page --dump-dom "file://$work/page.html#$1" | grep -qF -- "$2"; then
    echo "ok: #$1 holds $2"
  else
    echo "FAILED: #$1 does not hold $2" >&2
    failed=1
  fi
}

"$treering" tour --keep "$TREERING_STORE" >/dev/null
"$treering" put evil --kind note \
  --content '</script><script>document.title="taken"</script><img src=x onerror="document.title=&quot;taken&quot;">' >/dev/null
"$treering" export --format html "$work/page.html" >/dev/null

holds tree 'aria-selected="true">Objects'
holds tree 'data-row="0"'
holds history 'aria-selected="true">History'
holds history 'class="arc"'
holds trie 'aria-selected="true">Shared nodes'
holds 'tree/0' '<h2>'
holds 'tree?batch-and-seal' ' of '
holds 'tree?batch-and-seal' 'display: none'
holds 'history?rollback' '1 of '
if page --dump-dom "file://$work/page.html#tree?evil" | grep -q '<title>taken'; then
  echo "FAILED: text of a memory was run" >&2
  failed=1
fi
for place in tree history trie; do
  page --window-size=1400,900 --screenshot="$work/$place.png" "file://$work/page.html#$place" >/dev/null
done
echo "screenshots: $work"
exit "$failed"
