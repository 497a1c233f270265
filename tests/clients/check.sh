#!/usr/bin/env bash
# The real coding agents with the settings that `treering install` writes, against a model that follows a script; the plugin;
# the bundles with their validators; and the inbox (MCP App) in a browser.
# Needs node 20, git, curl, zip, and the package registry of node; Chromium for the app (`apt-get install chromium`, or
# BROWSER=/path/to/chrome). So it is not part of `cargo test`. No account and no model is needed.
# Run: tests/clients/check.sh [PROGRAM] [FOLDER] [CLIENT...]
# FOLDER keeps the packages for the next run. It must not be below /tmp: Codex starts no helper there.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
repository=$(realpath "$here/../..")
program=$(realpath "${1:-target/release/treering}")
work=${2:-/var/tmp/treering-clients}
shift $(($# < 2 ? $# : 2))
mkdir -p "$work"
work=$(realpath "$work")
export BROWSER=${BROWSER:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
# The versions that were tried. docs/guide/coding-agents.md names them, too.
packages=(
  @anthropic-ai/claude-code@2.1.332
  @openai/codex@0.171.0
  @google/gemini-cli@0.61.0
  opencode-ai@1.18.33
  @github/copilot@1.0.102
  @anthropic-ai/mcpb@2.1.2
  @modelcontextprotocol/ext-apps@2.0.4
  puppeteer-core@25
  ajv@8
)
cd "$work"
[ -f package.json ] || echo '{"private":true}' >package.json
for package in "${packages[@]}"; do
  name=${package%@*}
  [ -d "node_modules/$name" ] || npm install --silent --no-fund --no-audit "$package" || echo "$name: cannot be had"
done
# Node looks for packages beside the script.
cp "$here"/*.mjs "$work/"
node check.mjs "$program" "$repository" "$work" "$@"
[ $# = 0 ] || exit 0
node bundles.mjs "$program" "$repository" "$work"
if [ -n "$BROWSER" ]; then node app.mjs "$program" "$work"; else echo "the app: no browser found"; fi
