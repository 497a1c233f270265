# The start of the checks with other programs' clients, which source it with PROGRAM and FOLDER: sets `program` and `here`,
# and goes to the folder `work` with the official SDKs and the inspector in it. `packages` names more packages of Python.
program=$(realpath "${1:-target/release/treering}")
here=$(dirname "$(realpath "$0")")
work=${2:-$(mktemp -d)}
mkdir -p "$work"
work=$(realpath "$work")
cd "$work"
test -d python || { python3 -m venv python && python/bin/pip -q install mcp ${packages:-}; }
# An older Node would get an inspector without --header, which HTTP needs.
test -d node_modules || npm install --silent --no-fund @modelcontextprotocol/sdk @modelcontextprotocol/inspector@2
cp "$here/../mcp/check.mjs" "$work/check.mjs"
