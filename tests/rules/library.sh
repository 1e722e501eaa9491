#!/bin/sh
# The programs in docs/library.md compile and run unchanged, and the functions that the page names
# exist. README.md contains examples/first.c.
# usage: library.sh LIBTLNMF
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
library=$(realpath "$1")
page=$root/docs/library.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# Writes each block between ``` lines to a file: 1.c, 2.c, 3.python.
awk -v work="$work" '
    /^```./ { file = work "/" ++count "." substr($0, 4); next }
    /^```/ { file = ""; next }
    file != "" { print >file }' "$page"

programs=0
for program in "$work"/*.c; do
    "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I"$root/include" "$program" "$library" -lm -o "$work/run"
    "$work/run" >"$work/output"
    [ -s "$work/output" ] || { echo "$program prints nothing" >&2; exit 1; }
    programs=$((programs + 1))
done
for program in "$work"/*.python; do
    command -v python3 >/dev/null 2>&1 || continue
    python3 "$program" "$library" >"$work/output"
    [ -s "$work/output" ] || { echo "$program prints nothing" >&2; exit 1; }
    programs=$((programs + 1))
done
[ $programs -ge 2 ] || { echo "only $programs programs in $page" >&2; exit 1; }

sed -n '/^```c$/,/^```$/p' "$root/README.md" | sed '/^```/d' >"$work/readme.c"
sed -n '/^#include/,$p' "$root/examples/first.c" | diff - "$work/readme.c" >&2 ||
    { echo "the program in README.md differs from examples/first.c" >&2; exit 1; }

status=0
# shellcheck disable=SC2013 # names have no spaces
for name in $(grep -oE '\btlnmf_[a-z_A-Z]+\b' "$page" | sort -u); do
    case $name in *_) continue ;; esac # the start of a name
    grep -qw "$name" "$root"/include/tlnmf/*.h || [ "$name" = tlnmf_io ] ||
        { echo "$page: unknown function $name" >&2; status=1; }
done
[ $status != 0 ] || echo "library.md: $programs programs"
exit $status
