#!/bin/sh
# The shared library shows tlnmf_ names only, has the promised SONAME, needs none of the program's
# libraries, and calls nothing that prints, opens files, reads the environment or ends the process.
# usage: exports.sh LIBRARY
set -u
library=$1
soname=libtlnmf.so.0.1 # pinned here: a new one is a decision
status=0

complain() { # what is wrong, names
    # shellcheck disable=SC2086
    [ -z "$2" ] || { echo "$library: $1:" $2 >&2; status=1; }
}

names=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}') || exit 1
[ -n "$names" ] || complain "exports nothing" nothing
complain "exports other names than tlnmf_*" "$(echo "$names" | grep -v '^tlnmf_')"

# Every function of the header is there, and no other.
header=$(dirname "$0")/../../include/tlnmf/tlnmf.h
promised=$(tr '\n' ' ' <"$header" | grep -oE 'TLNMF_API [^;(]*[ *]tlnmf_[A-Za-z0-9_]+\(' |
    grep -oE 'tlnmf_[A-Za-z0-9_]+\($' | tr -d '(' | sort)
complain "the header declares, the library lacks" \
    "$(for n in $promised; do echo "$names" | grep -qx "$n" || echo "$n"; done)"
complain "the library exports, the header does not declare" \
    "$(for n in $names; do echo "$promised" | grep -qx "$n" || echo "$n"; done)"

dynamic=$(LC_ALL=C objdump -p "$library") || exit 1
found=$(echo "$dynamic" | awk '$1 == "SONAME" {print $2}')
[ "$found" = "$soname" ] || complain "SONAME should be $soname, is" "${found:-none}"
complain "needs libraries of the program" \
    "$(echo "$dynamic" | awk '$1 == "NEEDED" {print $2}' | grep -iE 'hdf5|sndfile|jansson|matio')"

complain "uses" "$(nm -D --undefined-only "$library" | awk '{sub(/@.*/, "", $2); print $2}' | grep -xE \
    '(__)?v?f?printf(_chk)?|f?puts|f?putc|putchar|perror|fwrite|_?exit|_Exit|abort|fopen(64)?|(secure_)?getenv|system')"

[ $status = 0 ] && echo "exports: $(echo "$names" | wc -l) names, $found"
exit $status
