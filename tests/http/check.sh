#!/bin/sh
# Other programs judge the built server: schemathesis the OpenAPI document, the official SDKs and the command line of the
# inspector MCP over HTTP. Needs python3, node and their package registries, so it is not part of `cargo test`.
# Run: tests/http/check.sh [PROGRAM] [FOLDER]   FOLDER keeps the installed packages for the next run.
set -eu
packages=schemathesis
. "$(dirname "$0")/../mcp/clients.sh"

server=
stop() { test -z "$server" || { kill "$server" && wait "$server"; }; server=; }
trap stop EXIT
serve() { # starts a server with a new store; sets url and token
    stop
    rm -rf "$work/$1" && mkdir -p "$work/$1"
    "$program" --store "$work/$1/store" init >/dev/null
    "$program" --store "$work/$1/store" serve --structured --http 127.0.0.1:0 --profile full --json >"$work/$1/listens" &
    server=$!
    while ! test -s "$work/$1/listens"; do sleep 0.1; done
    url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$work/$1/listens")
    token=$(sed 's/.*"token":"\([^"]*\)".*/\1/' "$work/$1/listens")
}

serve openapi
cp "$here/schemathesis.toml" "$work/schemathesis.toml"
python/bin/schemathesis run "$url/openapi.json" --header "Authorization: Bearer $token" --seed 21
"$program" --store "$work/openapi/store" verify >/dev/null

serve python-client
python/bin/python "$here/../mcp/check.py" "$url/mcp" "$token"
serve typescript-client
node check.mjs "$url/mcp" "$token"
serve inspector-client
inspect() {
    node_modules/.bin/mcp-inspector --cli "$url/mcp" --transport http --header "Authorization: Bearer $token" "$@"
}
tools=$(inspect --method tools/list | grep -c '"name": "memory')
test "$tools" = 15
inspect --method tools/call --tool-name memory_remember --tool-arg 'text=Vera drinks green tea.' | grep -q '"created"'
inspect --method tools/call --tool-name memory_recall --tool-arg query=tea | grep -q 'green tea'
inspect --method resources/read --uri memory://status | grep -q 'objects'
echo "inspector: $tools tools, 2 calls, 1 resource"
