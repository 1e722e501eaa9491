#!/bin/sh
# The functions that the pages name exist. README.md contains examples/first.c.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n '/^```c$/,/^```$/p' "$root/README.md" | sed '/^```/d' >"$work/readme.c"
sed -n '/^#include/,$p' "$root/examples/first.c" | diff - "$work/readme.c" >&2 ||
    { echo "the program in README.md differs from examples/first.c" >&2; exit 1; }

status=0
for page in "$root"/docs/*.md "$root"/docs/howto/*.md "$root"/docs/tutorials/*.md; do
    # shellcheck disable=SC2013 # names have no spaces
    for name in $(grep -oE '\btlnmf_[a-z_A-Z]+\b' "$page" | sort -u); do
        case $name in
            *_ | tlnmf_io | tlnmf_static | tlnmf_io_static) continue ;; # the start of a name; packages
            tlnmf_jd | tlnmf_mex) continue ;; # Octave
        esac
        grep -qw "$name" "$root"/include/tlnmf/*.h ||
            { echo "$page: unknown function $name" >&2; status=1; }
    done
done
exit $status
