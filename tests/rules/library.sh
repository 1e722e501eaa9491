#!/bin/sh
# The functions that docs/library.md names exist. README.md contains examples/first.c.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
page=$root/docs/library.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
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
exit $status
