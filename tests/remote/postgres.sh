#!/usr/bin/env bash
# A private PostgreSQL for tests.
#   postgres.sh start DIR   starts a server with its data behind DIR, and prints the URL of a remote
#   postgres.sh stop DIR    stops it and removes its data
#   postgres.sh kill DIR    kills it as a crash would; `again DIR` starts it on the same port
# Exit code 77: this machine has no PostgreSQL. Over TCP, only the roles `treering` and
# `reader` need no password. `guarded` has the password `secret`, and `reader` may only read. With `openssl`, the server has TLS, and DIR/ca.pem is its authority.
set -euo pipefail

what=${1:-} dir=${2:-}
[ -n "$dir" ] || { sed -n '2,8p' "$0" >&2; exit 2; }

bin=$(command -v pg_ctl 2>/dev/null || ls -d /usr/lib/postgresql/*/bin/pg_ctl 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || { echo "skipped: there is no PostgreSQL" >&2; exit 77; }
bin=$(dirname "$(readlink -f "$bin")")

# PostgreSQL refuses to run as root.
as_user() {
  if [ "$(id -u)" = 0 ]; then
    (cd / && setpriv --reuid=nobody --regid="$(id -gn nobody)" --clear-groups env HOME=/nonexistent "$@")
  else
    "$@"
  fi
}

# A port that nobody uses now. Another process may take it, so `start` tries again.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

run_server() {
  as_user "$bin/pg_ctl" --pgdata "$data/db" --log "$data/log" --wait --timeout 60 --options "-p $1" start >/dev/null 2>&1
}

sql() { as_user "$bin/psql" --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username treering --host "$data" --port "$port" "$@"; }

# An authority, and a certificate for localhost that it signed.
make_certificates() {
  local subject=(-nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2)
  openssl req -x509 "${subject[@]}" -subj /CN=authority -keyout "$dir/ca.key" -out "$dir/ca.pem" 2>/dev/null
  openssl req "${subject[@]:0:5}" -subj /CN=localhost -keyout "$data/server.key" -out "$dir/server.csr" 2>/dev/null
  openssl x509 -req -in "$dir/server.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial -days 2 \
    -extfile <(echo 'subjectAltName=DNS:localhost') -out "$data/server.crt" 2>/dev/null
  chmod 600 "$data/server.key"
}

start() {
  mkdir -p "$dir"
  # Not in DIR: the server's user may have no way there, and the path of a socket is short.
  data=$(mktemp -d /tmp/treering-pg.XXXXXX)
  echo "$data" >"$dir/data"
  local tls=off
  command -v openssl >/dev/null && make_certificates && tls=on
  [ "$(id -u)" != 0 ] || chown -R nobody "$data"
  as_user "$bin/initdb" --pgdata "$data/db" --username treering --auth trust --encoding UTF8 --no-sync >/dev/null
  as_user tee "$data/db/pg_hba.conf" >/dev/null <<HBA
local all all trust
host all treering,reader samehost trust
host all all samehost scram-sha-256
HBA
  as_user tee -a "$data/db/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$data'
ssl = $tls
ssl_cert_file = '$data/server.crt'
ssl_key_file = '$data/server.key'
fsync = off
max_connections = 200
CONF
  for _ in 1 2 3 4 5; do
    port=$(free_port)
    run_server "$port" && break
    port=
  done
  [ -n "$port" ] || { cat "$data/log" >&2; exit 1; }
  echo "$port" >"$dir/port"
  sql --dbname postgres --command "CREATE DATABASE treering"
  sql --dbname treering --command "CREATE ROLE guarded LOGIN PASSWORD 'secret'" --command "CREATE ROLE reader LOGIN" \
    --command "GRANT CREATE ON DATABASE treering TO guarded" \
    --command "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader"
  echo "postgres://treering@127.0.0.1:$port/treering"
}

if [ "$what" != start ]; then
  data=$(cat "$dir/data")
  port=$(cat "$dir/port" 2>/dev/null || true)
fi
case $what in
  start) start ;;
  stop)
    as_user "$bin/pg_ctl" --pgdata "$data/db" --mode immediate --wait stop >/dev/null 2>&1 || true
    rm -rf "$data"
    ;;
  kill)
    leader=$(head -1 "$data/db/postmaster.pid")
    read -ra children <"/proc/$leader/task/$leader/children" || true
    kill -9 "$leader" "${children[@]}"
    ;;
  again)
    # The children of a killed server end by themselves, and hold its memory until then.
    for _ in $(seq 100); do run_server "$port" && exit 0; sleep 0.1; done
    cat "$data/log" >&2
    exit 1
    ;;
  *) echo "unknown: $what" >&2; exit 2 ;;
esac
