#!/usr/bin/env bash
# Writes SHA256SUMS for the files of a release, and puts the install script beside them: packaging/checksums.sh FOLDER
set -euo pipefail
cp "$(dirname "$0")/install.sh" "$1"
cd "$1"
rm -f SHA256SUMS
sums=$(find . -maxdepth 1 -type f | sed 's,^\./,,' | LC_ALL=C sort | xargs sha256sum)
printf '%s\n' "$sums" >SHA256SUMS
