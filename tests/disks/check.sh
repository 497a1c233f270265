#!/usr/bin/env bash
# Do real file systems lose what the simulated disk says they may lose, and no more? Loop devices with ext4 and XFS are
# shut down in the middle of writing, filled up, and made to fail; what was acknowledged must be there afterwards.
#
#   tests/disks/check.sh [CYCLES]      # 200 by default; needs root, loop devices, python3; strace for the last part
#   TREERING=/path/to/treering tests/disks/check.sh      # another build of the program
#
# What cannot be had is skipped, and said so. Not part of `cargo test`.
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

# A file system of kind $1 and $2 MiB, mounted with options $3.
make_fs() {
  truncate -s "$2M" "$work/image"
  case $1 in
    ext4) mkfs.ext4 -q -F "$work/image" ;;
    xfs) mkfs.xfs -q -f "$work/image" ;;
  esac
  mount -o "loop,$3" "$work/image" "$mnt"
}

# Ends all writing at once, as a loss of power does: nothing that is not synced reaches the device.
shut_down() {
  python3 - "$mnt" <<'PY'
import fcntl, os, struct, sys
FS_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
PY
}

# Puts objects $1-1, $1-2, ... until it fails; a line in $work/acked for each that was acknowledged.
write_on() {
  local count=0
  while count=$((count + 1)) && "$treering" --store "$mnt/store" put "$1-$count" --kind note --content "text $1-$count" >/dev/null 2>&1; do
    echo "$1-$count" >>"$work/acked"
  done
}

# Everything that was acknowledged is there but for $2 objects (0 if it is not given), and nothing is damaged.
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
  command -v "mkfs.$1" >/dev/null || { echo "skipped: $1 (there is no mkfs.$1)"; return; }
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
    # The machine ran on, and `live`, which was never synced, went back. A reader sees that unless a single group is behind it,
    # which might be one that is being written; the next writer recovers.
    check_acked "$1, $2, cycle $cycle, a reader" 1
    "$treering" --store "$mnt/store" put "behind-$cycle" --kind note --content x >/dev/null 2>&1 || fail "cycle $cycle: no recovery"
    check_acked "$1, $2, cycle $cycle"
  done
  echo "ok: $cycles shutdowns of $1 with $2, $(wc -l <"$work/acked") acknowledged, 0 lost"
  umount "$mnt"
}

# A file system of 8 MiB that is full, and has room again.
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

# System calls that fail: the program says so, and what was acknowledged before stays.
failing_calls() {
  command -v strace >/dev/null || { echo "skipped: failing calls (there is no strace)"; return; }
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
  [ "$failed" -gt 5 ] || fail "calls were to fail, and $failed did"
  echo "ok: 40 runs with failing calls, $failed of them refused, 0 lost"
}

shutdowns ext4 defaults
shutdowns ext4 commit=1
shutdowns xfs defaults
full
failing_calls
