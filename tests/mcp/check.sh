#!/bin/sh
# The official SDKs and the command line of the inspector talk to the built server. Needs python3, node and their package
# registries, so it is not part of `cargo test`. Run: tests/mcp/check.sh [PROGRAM] [FOLDER]
# FOLDER keeps the installed packages for the next run.
set -eu
. "$(dirname "$0")/../mcp/clients.sh"

serve() { # a new store for each client
    rm -rf "$work/$1" && mkdir -p "$work/$1" && cd "$work/$1" && "$program" --store "$work/$1/store" init >/dev/null
}
serve python-store
"$work/python/bin/python" "$here/check.py" "$program" serve --mcp --structured --profile full --store "$work/python-store/store"
serve typescript-store
node "$work/check.mjs" "$program" serve --mcp --structured --profile full --store "$work/typescript-store/store"
serve inspector-store
inspect() {
    # The inspector takes the options of the server for its own, so a script has them.
    (cd "$work" && node_modules/.bin/mcp-inspector --cli "$work/server.sh" "$@")
}
printf '#!/bin/sh\nexec "%s" serve --mcp --structured --store "%s"\n' "$program" "$work/inspector-store/store" >"$work/server.sh"
chmod +x "$work/server.sh"
tools=$(inspect --method tools/list | grep -c '"name": "memory_')
test "$tools" = 8
inspect --method tools/call --tool-name memory_remember --tool-arg 'text=Vera drinks green tea.' | grep -q '"created"'
inspect --method tools/call --tool-name memory_recall --tool-arg query=tea | grep -q 'green tea'
inspect --method resources/list | grep -q memory://status
inspect --method resources/templates/list | grep -q 'memory://object/{id}'
inspect --method resources/read --uri memory://status | grep -q 'objects'
inspect --method prompts/list | grep -q recall-first
echo "inspector: $tools tools, 2 calls, 1 resource"
