#!/usr/bin/env bash
# Checks that real file systems lose no more data than the simulated disk permits. Loop devices with ext4 and XFS are
# shut down during writes, filled up, and made to fail. Every acknowledged object must be readable afterwards.
#
#   tests/disks/check.sh [CYCLES]      # 200 by default; needs root, loop devices, python3; strace for the last part
#   TREERING=/path/to/treering tests/disks/check.sh      # another build of the program
#
# A part whose requirements are missing is skipped with a message. `cargo test` does not run this script.
set -euo pipefail
cd "$(dirname "$0")/../.."

cycles=${1:-200}
[ "$(id -u)" = 0 ] || { echo "skipped: only root can mount" >&2; exit 2; }
if [ -z "${TREERING:-}" ]; then
  cargo build --release --quiet
  TREERING=${CARGO_TARGET_DIR:-target}/release/treering
fi
treering=$(realpath "$TREERING")
work=$(mktemp -d)
mnt=$work/mnt
mkdir "$mnt"
unset TREERING_STORE
trap 'umount -f "$mnt" 2>/dev/null || true; rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Creates a file system of kind $1 with $2 MiB, and mounts it with the options $3.
make_fs() {
  truncate -s "$2M" "$work/image"
  case $1 in
    ext4) mkfs.ext4 -q -F "$work/image" ;;
    xfs) mkfs.xfs -q -f "$work/image" ;;
  esac
  mount -o "loop,$3" "$work/image" "$mnt"
}

# Shuts the file system down, as a power loss does: unsynced data does not reach the device.
shut_down() {
  python3 - "$mnt" <<'PY'
import fcntl, os, struct, sys
FS_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
PY
}

# Puts objects $1-1, $1-2, ... until a put fails. Adds a line to $work/acked for each acknowledged object.
write_on() {
  local count=0
  while count=$((count + 1)) && "$treering" --store "$mnt/store" put "$1-$count" --kind note --content "text $1-$count" >/dev/null 2>&1; do
    echo "$1-$count" >>"$work/acked"
  done
}

# Checks that the store is not damaged, and that at most $2 acknowledged objects are missing (default: 0).
check_acked() {
  "$treering" --store "$mnt/store" verify >"$work/verified" 2>&1 || { cat "$work/verified"; fail "$1: verify"; }
  "$treering" --store "$mnt/store" list --json | { grep -o '"id":"[^"]*"' || true; } | cut -d'"' -f4 | sort >"$work/found"
  sort -u "$work/acked" >"$work/wanted"
  local lost
  lost=$(comm -23 "$work/wanted" "$work/found" | wc -l)
  [ "$lost" -le "${2:-0}" ] || fail "$1: $lost of $(wc -l <"$work/wanted") acknowledged objects are lost"
}

# Shutdowns on a file system of kind $1 with mount options $2.
shutdowns() {
  command -v "mkfs.$1" >/dev/null || { echo "skipped: $1 (mkfs.$1 is missing)"; return; }
  if ! make_fs "$1" 512 "$2" 2>"$work/why"; then
    echo "skipped: $1 with $2 ($(tail -1 "$work/why"))"
    return
  fi
  : >"$work/acked"
  "$treering" --store "$mnt/store" init >/dev/null 2>&1
  for cycle in $(seq "$cycles"); do
    write_on "$cycle" &
    local writer=$!
    sleep "0.$((RANDOM % 15 + 5))"
    shut_down
    wait "$writer" || true
    umount "$mnt"
    mount -o "loop,$2" "$work/image" "$mnt"
    # The machine was not restarted, but the unsynced file `live` is an older version now. A reader detects that, unless
    # only one group follows the position in `live`, because a writer might be writing that group. The next writer recovers it.
    check_acked "$1, $2, cycle $cycle, a reader" 1
    "$treering" --store "$mnt/store" put "behind-$cycle" --kind note --content x >/dev/null 2>&1 || fail "cycle $cycle: no recovery"
    check_acked "$1, $2, cycle $cycle"
  done
  echo "ok: $cycles shutdowns of $1 with $2, $(wc -l <"$work/acked") acknowledged, 0 lost"
  umount "$mnt"
}

# Fills a file system of 8 MiB during writes, and frees the space again.
full() {
  make_fs ext4 8 defaults
  : >"$work/acked"
  "$treering" --store "$mnt/store" init >/dev/null 2>&1
  for round in $(seq 20); do
    write_on "before-$round" &
    local writer=$!
    dd if=/dev/zero of="$mnt/filler" bs=64k >/dev/null 2>&1 || true
    sleep 0.2
    rm -f "$mnt/filler"
    sleep 0.1
    kill "$writer" 2>/dev/null || true
    wait "$writer" || true
    check_acked "a full disk, round $round"
  done
  echo "ok: 20 rounds on a full disk of 8 MiB, $(wc -l <"$work/acked") acknowledged, 0 lost"
  umount "$mnt"
}

# Makes system calls fail. The program must report the failure, and earlier acknowledged objects must stay.
failing_calls() {
  command -v strace >/dev/null || { echo "skipped: failing calls (strace is missing)"; return; }
  mkdir -p "$mnt"
  rm -rf "$mnt/store"
  : >"$work/acked"
  "$treering" --store "$mnt/store" init >/dev/null 2>&1
  local failed=0
  for round in $(seq 10); do
    for call in fdatasync:error=EIO pwrite64:error=ENOSPC pwrite64:error=EIO pwrite64:error=EINTR; do
      local id=$round-${call//[:=]/-}
      if strace -f -qq -o /dev/null -e "inject=$call:when=$((round % 3 + 1))" \
        "$treering" --store "$mnt/store" put "$id" --kind note --content text >/dev/null 2>&1; then
        echo "$id" >>"$work/acked"
      else
        failed=$((failed + 1))
      fi
      check_acked "$call in round $round"
    done
  done
  [ "$failed" -gt 5 ] || fail "only $failed runs failed"
  echo "ok: 40 runs with failing calls, $failed of them refused, 0 lost"
}

shutdowns ext4 defaults
shutdowns ext4 commit=1
shutdowns xfs defaults
full
failing_calls
