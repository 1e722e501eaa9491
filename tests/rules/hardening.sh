#!/usr/bin/env bash
# The program and the libraries are hardened: PIE, full RELRO, stack protector, FORTIFY, no executable
# stack.     usage: hardening.sh FILE...
set -u
command -v readelf >/dev/null || exit 77
bad=0
need() # FILE WHAT PATTERN FROM...
{
    local file=$1 what=$2 pattern=$3
    shift 3
    "$@" "$file" 2>/dev/null | grep -Eq "$pattern" && return
    echo "$(basename "$file"): no $what"
    bad=$((bad + 1))
}
for file; do
    need "$file" "position-independent code" 'Type: +DYN' readelf -h
    need "$file" "RELRO" 'GNU_RELRO' readelf -lW
    need "$file" "immediate binding" 'BIND_NOW|FLAGS_1.*NOW' readelf -dW
    need "$file" "protected stacks" '__stack_chk_fail' readelf --dyn-syms -W
    need "$file" "FORTIFY" '__[a-z]+_chk(@|$)' readelf --dyn-syms -W
    need "$file" "stack that cannot be executed" 'GNU_STACK.* RW ' readelf -lW
done
[ $# -gt 0 ] && [ $bad -eq 0 ]
