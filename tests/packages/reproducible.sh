#!/bin/sh
# Builds the Debian packages twice, in different folders, time zones, languages and with different umasks, and
# compares them byte by byte.
# usage: reproducible.sh
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" DEB_BUILD_PROFILES=nocheck
mkdir -p "$work/first/tmp" "$work/second/much/longer/name"
(umask 022 && TMPDIR=$work/first/tmp TZ=UTC LC_ALL=C "$top/packaging/deb.sh" "$work/first/out") >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
(umask 027 && TMPDIR=$work/second/much/longer/name TZ=Asia/Tokyo LC_ALL=C.UTF-8 \
    "$top/packaging/deb.sh" "$work/second/out") >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
bad=0 all=0
for file in "$work"/first/out/*.deb "$work"/first/out/*.tar.* "$work"/first/out/*.dsc; do
    all=$((all + 1))
    cmp "$file" "$work/second/out/$(basename "$file")" || bad=$((bad + 1))
done
echo "reproducible: $((all - bad)) of $all files"
[ $bad -eq 0 ]
